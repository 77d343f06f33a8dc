"""Methods that protect records: one class each, with its parameters and its release."""

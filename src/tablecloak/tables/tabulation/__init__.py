"""From records to tables: queries, roll-up, engines."""

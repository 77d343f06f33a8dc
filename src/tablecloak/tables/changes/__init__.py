"""Problems made of problems, each with its way back."""

"""Rows of the exact method: what every pattern must satisfy, and the certificate of a bound."""

"""What the app and the service share as servers: the guard of requests, and listening."""

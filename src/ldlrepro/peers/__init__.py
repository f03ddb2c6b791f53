"""Other people's packages as methods. Each fit runs in a process of the peers' environment."""

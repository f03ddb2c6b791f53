"""Other people's packages as methods: each fit runs in a process of the peers' own environment."""

"""Schema Registries: Confluent's interface, which Karapace and Apicurio Registry speak as well."""

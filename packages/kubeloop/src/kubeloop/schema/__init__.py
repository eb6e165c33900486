"""From Python types to OpenAPI schemas and CustomResourceDefinitions. Pure."""

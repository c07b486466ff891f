"""Fitted models carried over to a revised taxonomy."""

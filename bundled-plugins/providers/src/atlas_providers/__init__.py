"""OpenAI, Anthropic, Gemini, OpenRouter, Ollama, vLLM and compatible model providers."""

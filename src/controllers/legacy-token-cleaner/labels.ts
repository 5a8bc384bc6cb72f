/** What the API server and the cleaner tell each other of a token; both are days. */
export const lastUsed = 'kubernetes.io/legacy-token-last-used'
export const invalidSince = 'kubernetes.io/legacy-token-invalid-since'

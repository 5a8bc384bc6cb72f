/**
 * Labels on token secrets; the values are dates. `lastUsed` is written by the API server, `invalidSince` by
 * the cleaner.
 */
export const lastUsed = 'kubernetes.io/legacy-token-last-used'
export const invalidSince = 'kubernetes.io/legacy-token-invalid-since'

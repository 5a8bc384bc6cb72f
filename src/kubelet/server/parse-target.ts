export interface Target {
  readonly path: string
  readonly query: URLSearchParams
}

/**
 * Decodes the path once, so that authorization and routing see the same path. Undefined if the target is
 * invalid.
 */
export function parseTarget(target: string): Target | undefined {
  const question = target.indexOf('?')
  const path = question === -1 ? target : target.slice(0, question)
  const query = new URLSearchParams(question === -1 ? '' : target.slice(question + 1))
  try {
    return path.startsWith('/') ? { path: decodeURIComponent(path), query } : undefined
  } catch {
    return undefined
  }
}

/** Authorization attributes of a request to the kubelet: a verb on a subresource of the node. */
export interface RequestAttributes {
  /** Empty for methods without a verb, which only `*` rules allow. */
  readonly verb: string
  /** Access to any of these is sufficient. */
  readonly subresources: readonly string[]
}

const verbs: Readonly<Record<string, string>> = {
  GET: 'get',
  POST: 'create',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
}

/** Paths with their own subresources. For some, access to `proxy` is sufficient as well. */
const parts: readonly (readonly [path: string, ...subresources: string[]])[] = [
  ['/pods', 'pods', 'proxy'],
  ['/runningpods', 'pods', 'proxy'],
  ['/healthz', 'healthz', 'proxy'],
  ['/configz', 'configz', 'proxy'],
  ['/stats', 'stats'],
  ['/metrics', 'metrics'],
  ['/logs', 'log'],
  ['/checkpoint', 'checkpoint'],
]

/** Authorized as `create`, even if the client uses GET. */
const running: readonly string[] = ['/attach', '/exec', '/portForward', '/run']

export function requestAttributes(method: string, path: string): RequestAttributes {
  const isRunning = running.some(each => isBelow(path, each))
  const verb = isRunning ? 'create' : Object.hasOwn(verbs, method) ? verbs[method]! : ''
  const [, ...subresources] = parts.find(([each]) => isBelow(path, each)) ?? ['', 'proxy']
  return { verb, subresources }
}

function isBelow(path: string, folder: string): boolean {
  return path === folder || path.startsWith(`${folder}/`)
}

/** What a request to a kubelet is to the cluster's authorizers: something done to a part of its node. */
export interface RequestAttributes {
  /** Empty for a method that no rule but one for everything allows. */
  readonly verb: string
  /** Any of these is enough. */
  readonly subresources: readonly string[]
}

const verbs: Readonly<Record<string, string>> = {
  GET: 'get',
  POST: 'create',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
}

/** Paths that have a part of the node to themselves. Who may do everything by proxy may look at these too. */
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

/** To run something is to change something, also for clients that have to ask for it with GET. */
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

/**
 * The proxy subresources of pods, services and nodes. Redirects and links in HTML pages are rewritten to lead
 * back through the proxy.
 */
import { badRequest } from '#/api/errors.ts'
import type { TypeMeta } from '#/api/decoding/type-meta.ts'
import type { Authorizer } from '../authz/authorizer.ts'
import type { RequestScope } from '../handlers/request-scope.ts'
import { admitConnection } from '../proxy/admit-connection.ts'
import { requireCreatePermission } from '../proxy/require-create-permission.ts'
import { escapeQuery } from '../proxy/proxy-path.ts'
import { forwardRequest } from '../proxy/forward-request.ts'
import { forwardUpgrade } from '../proxy/forward-upgrade.ts'
import {
  locateNode,
  locatePod,
  locateService,
  type Locate,
  type ProxyClients,
} from '../proxy/proxy-locations.ts'
import { splitProxyPath } from '../proxy/proxy-path.ts'
import type { ApiResponse } from '../request.ts'
import type { VerbHandlers } from '../router.ts'

export interface ProxyOptions extends ProxyClients {
  readonly authorizer: Authorizer
}

/** By qualified name, e.g. `pods/proxy`. */
export function proxies(options: ProxyOptions): ReadonlyMap<string, VerbHandlers> {
  const proxy = (kind: string, locate: Locate): VerbHandlers => {
    const connect = (scope: RequestScope): Promise<ApiResponse> => pass(scope, { kind, locate, options })
    return {
      'get': connect,
      'create': connect,
      'update': connect,
      'patch': connect,
      'delete': connect,
      '': connect,
    }
  }
  return new Map([
    ['nodes/proxy', proxy('NodeProxyOptions', locateNode)],
    ['pods/proxy', proxy('PodProxyOptions', locatePod)],
    ['services/proxy', proxy('ServiceProxyOptions', locateService)],
  ])
}

interface Proxy {
  readonly kind: string
  readonly locate: Locate
  readonly options: ProxyOptions
}

/** PodProxyOptions, ServiceProxyOptions or NodeProxyOptions. */
interface PathOptions extends TypeMeta {
  readonly path?: string
}

async function pass(scope: RequestScope, { kind, locate, options }: Proxy): Promise<ApiResponse> {
  const { info, context, registry } = scope
  const { request } = context
  // `api/v1/nodes/NAME/proxy`, plus two segments for a namespace.
  const { prefix, rest } = splitProxyPath(request.path, info.namespace === '' ? 5 : 7)
  const sent: PathOptions = { kind, apiVersion: 'v1', path: decoded(rest) }
  const admitted = await admitConnection(scope, sent)
  // The kubelet sees only this server's identity, so the permission is checked here.
  const runsSomething = info.resource === 'nodes' && running.test(sent.path ?? '')
  if (runsSomething) await requireCreatePermission(scope, options.authorizer)
  const search = request.search ?? request.query.toString()
  const query = search === '' ? '' : `?${escapeQuery(search)}`
  const path = admitted.path === sent.path ? rest : encodeURI(admitted.path ?? '')
  const { host, client } = await locate(scope, options)
  const target = { request, client, path: `${path || '/'}${query}`, uri: request.path }
  if (request.isUpgrade) return forwardUpgrade({ ...target, clock: registry.platform.clock })
  if (path === '' && (request.method === 'GET' || request.method === 'HEAD')) {
    return { status: 301, headers: { location: `${request.path}/${query}` } }
  }
  return forwardRequest({
    ...target,
    origins: { prefix, backendHost: host, requestHost: request.headers['host'] ?? '' },
  })
}

/** Kubelet endpoints for exec, attach, run and port-forward. */
const running = /^\/+(?:attach|exec|portForward|run)(?:\/|$)/i

/** Decodes the path, so that admission sees the same path however it is encoded. */
function decoded(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    throw badRequest('the path of the request cannot be decoded')
  }
}

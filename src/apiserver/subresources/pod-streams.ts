/**
 * The exec, attach and portforward subresources. The protocol (WebSocket, SPDY/3.1) is between client and
 * kubelet: this server authorizes the request and joins the connections.
 */
import { badRequest } from '#/api/errors.ts'
import type { Pod } from '#/api/generated/core/v1.ts'
import { pods } from '#/api/generated/core/v1-resources.ts'
import type { TypeMeta } from '#/api/decoding/type-meta.ts'
import type { Authorizer } from '../authz/authorizer.ts'
import type { RequestScope } from '../handlers/request-scope.ts'
import type { Kubelets } from '../kubelets.ts'
import { admitConnection } from '../proxy/admit-connection.ts'
import { chooseContainer } from '../proxy/choose-container.ts'
import { requireCreatePermission } from '../proxy/require-create-permission.ts'
import { findObject } from '../proxy/find-object.ts'
import { forwardUpgrade } from '../proxy/forward-upgrade.ts'
import { tooManyStreams } from '../proxy/kubelet-refusal.ts'
import { kubeletStreamQuery, readCommandOptions, readPortForwardOptions } from '../proxy/stream-options.ts'
import type { ApiResponse } from '../request.ts'
import type { VerbHandlers } from '../router.ts'

export interface PodStreamsOptions {
  readonly kubelets: Kubelets
  readonly authorizer: Authorizer
}

/** By qualified name, e.g. `pods/exec`. */
export function podStreams(options: PodStreamsOptions): ReadonlyMap<string, VerbHandlers> {
  const command = (kind: CommandKind): VerbHandlers => {
    const connect = (scope: RequestScope): Promise<ApiResponse> => connectCommand(scope, kind, options)
    return { get: connect, create: connect }
  }
  const forward = (scope: RequestScope): Promise<ApiResponse> => connectPorts(scope, options)
  return new Map([
    ['pods/attach', command({ path: 'attach', kind: 'PodAttachOptions' })],
    ['pods/exec', command({ path: 'exec', kind: 'PodExecOptions' })],
    ['pods/portforward', { get: forward, create: forward }],
  ])
}

interface CommandKind {
  readonly path: 'attach' | 'exec'
  readonly kind: 'PodAttachOptions' | 'PodExecOptions'
}

async function connectCommand(
  scope: RequestScope,
  command: CommandKind,
  options: PodStreamsOptions,
): Promise<ApiResponse> {
  const { query } = scope.context.request
  const chosen = await admit(scope, readCommandOptions(query, command.kind), options)
  const pod = await findObject(scope, pods, scope.info)
  const container = chooseContainer(pod, chosen.container ?? '')
  const path = `/${command.path}/${nameOf(scope)}/${container}?${kubeletStreamQuery(chosen)}`
  return connect(scope, { pod, path, kubelets: options.kubelets })
}

async function connectPorts(scope: RequestScope, options: PodStreamsOptions): Promise<ApiResponse> {
  const { query } = scope.context.request
  const admitted = await admit(scope, readPortForwardOptions(query), options)
  const pod = await findObject(scope, pods, scope.info)
  const { ports = [] } = admitted
  const ported = ports.length > 0 ? `?port=${ports.join(',')}` : ''
  const path = `/portForward/${nameOf(scope)}${ported}`
  return connect(scope, { pod, path, kubelets: options.kubelets })
}

function nameOf({ info: { namespace, name } }: RequestScope): string {
  return `${namespace}/${name}`
}

async function admit<T extends TypeMeta>(
  scope: RequestScope,
  sent: T,
  { authorizer }: PodStreamsOptions,
): Promise<T> {
  const admitted = await admitConnection(scope, sent)
  await requireCreatePermission(scope, authorizer)
  return admitted
}

interface KubeletStream {
  readonly pod: Pod
  /** Path of the kubelet's API, with query. */
  readonly path: string
  readonly kubelets: Kubelets
}

async function connect(scope: RequestScope, { pod, path, kubelets }: KubeletStream): Promise<ApiResponse> {
  const { context, info, registry } = scope
  const { request } = context
  const nodeName = pod.spec?.nodeName ?? ''
  if (nodeName === '') throw badRequest(`pod ${info.name} does not have a host assigned`)
  const { client } = await kubelets.of(nodeName)
  if (!request.isUpgrade) throw badRequest('Upgrade request required')
  return forwardUpgrade({ clock: registry.platform.clock, request, client, path, refusal: tooManyStreams })
}

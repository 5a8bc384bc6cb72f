/** The log subresource: container logs from the kubelet. */
import { messageOf } from '#/base/message-of.ts'
import { apiError, badRequest, internalError, type ApiError } from '#/api/errors.ts'
import { pods } from '#/api/generated/core/v1-resources.ts'
import type { HttpClientResponse } from '#/platform/http-client.ts'
import type { RequestScope } from '../handlers/request-scope.ts'
import type { Kubelets } from '../kubelets.ts'
import { openLogStream } from '../proxy/log-stream.ts'
import { chooseContainer } from '../proxy/choose-container.ts'
import { findObject } from '../proxy/find-object.ts'
import { refusalText, tooManyStreams } from '../proxy/kubelet-refusal.ts'
import { kubeletLogQuery, readLogOptions } from '../proxy/log-options.ts'
import { upstreamError } from '../proxy/upstream-error.ts'
import type { ApiResponse } from '../request.ts'
import type { VerbHandlers } from '../router.ts'

export function podLog(kubelets: Kubelets): VerbHandlers {
  return { get: scope => get(scope, kubelets) }
}

async function get(scope: RequestScope, kubelets: Kubelets): Promise<ApiResponse> {
  const { info, context, registry } = scope
  const { request } = context
  const options = readLogOptions(request.query, info.name)
  const pod = await findObject(scope, pods, info)
  const container = chooseContainer(pod, options.container)
  const nodeName = pod.spec?.nodeName ?? ''
  // Not scheduled yet, so there are no logs.
  if (nodeName === '') return { status: 204 }
  const { server } = registry.metrics ?? {}
  server?.recordPodLog(options.insecureSkipTlsVerifyBackend ? 'skip_tls_allowed' : 'enforce_tls')
  const { client, host, port } = await (options.insecureSkipTlsVerifyBackend
    ? kubelets.ofUnverified(nodeName)
    : kubelets.of(nodeName))
  const path = `/containerLogs/${info.namespace}/${info.name}/${container}?${kubeletLogQuery(options)}`
  const reading = openLogStream(request, registry.platform.clock)
  let response: HttpClientResponse
  try {
    response = await client.request({ method: 'GET', path, signal: reading.signal })
  } catch (error) {
    if (/certificate|tls|ssl/i.test(messageOf(error))) server?.logTlsFailures.add()
    throw upstreamError(`Get "https://${host}:${port}${path}": ${messageOf(error)}`, error)
  }
  if (response.status < 200 || response.status > 206) throw await refusalOf(response, info.name)
  return reading.respond(response)
}

async function refusalOf(response: HttpClientResponse, name: string): Promise<ApiError> {
  const full = await tooManyStreams(response)
  if (full !== undefined) return full
  const text = await refusalText(response)
  const { status } = response
  if (status === 400) return badRequest(text)
  if (status === 404) {
    const message = `the server could not find the requested resource ( pods/log ${name})`
    return apiError('NotFound', message, { name, kind: 'pods/log' })
  }
  if (status === 403) return apiError('Forbidden', `${text} ( pods/log ${name})`, { name, kind: 'pods/log' })
  return internalError(text || `kubelet returned status ${status}`)
}

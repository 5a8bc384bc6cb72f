/** Extracts the fields of an audit event from the request and response. */
import { ApiError, type Status } from '#/api/errors.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import type { ResourceRequestInfo } from '../request-info.ts'
import type { ApiRequest } from '../request.ts'

/** The Audit-ID header, which a proxy in front may have set. */
export function auditIdHeader({ headers }: ApiRequest): string | undefined {
  const given = headers['audit-id']
  return given !== undefined && /^[\x21-\x7e]{1,64}$/.test(given) ? given : undefined
}

export function uriOf({ path, query }: ApiRequest): string {
  return query.size === 0 ? path : `${path}?${query.toString()}`
}

/** Source IPs from proxy headers, which are not verified, then the peer address. */
export function sourceIps({ headers, peer }: ApiRequest): readonly string[] {
  const forwarded = (headers['x-forwarded-for'] ?? '').split(',').map(each => each.trim())
  const named = [...forwarded, headers['x-real-ip'] ?? '']
    .filter(each => address.test(each))
    .slice(0, sourcesMax)
  return [...new Set([...named, peer.address])]
}

const address = /^[0-9a-fA-F.:]{2,45}$/
const sourcesMax = 20

export function userAgentOf({ headers }: ApiRequest): { readonly userAgent?: string } {
  const agent = headers['user-agent']
  if (!agent) return {}
  return {
    userAgent:
      agent.length > agentCharactersMax ? `${agent.slice(0, agentCharactersMax)}...TRUNCATED` : agent,
  }
}

const agentCharactersMax = 1_024

export function objectReference(info: ResourceRequestInfo, name: string): object {
  const { resource, namespace, group, version, subresource } = info
  return {
    resource,
    ...(namespace && { namespace }),
    ...(name && { name }),
    ...(group && { apiGroup: group }),
    apiVersion: version,
    ...(subresource && { subresource }),
  }
}

/** The name of a returned object. */
export function nameIn(value: unknown): string {
  return (value as Partial<KubernetesObject> | undefined)?.metadata?.name ?? ''
}

export type ResponseStatus = Omit<Status, 'kind' | 'apiVersion'>

/** Status of the error as sent to the client; unexpected errors are not disclosed. */
export function statusOf(error: unknown): ResponseStatus {
  if (error instanceof ApiError) return withoutKind(error.status)
  const message = 'internal server error'
  return { metadata: {}, status: 'Failure', message, reason: 'InternalError', code: 500 }
}

/** The Status in a response body, if it is one. */
export function statusIn(value: unknown): ResponseStatus | undefined {
  const status = value as Partial<Status> | undefined
  return status?.kind === 'Status' ? withoutKind(status as Status) : undefined
}

function withoutKind({ kind: _kind, apiVersion: _version, ...status }: Status): ResponseStatus {
  return status
}

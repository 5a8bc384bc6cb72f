/** The legacy one-line text format of audit events, which omits many fields. */
import { quote } from '#/api/text/quote.ts'
import type { UserInfo } from '../request.ts'

/** `event` is JSON. */
export function legacyLine(event: string): string {
  const fields = JSON.parse(event) as Partial<EventFields>
  const { user, impersonatedUser: as, objectRef, responseStatus } = fields
  const said: readonly (readonly [string, string])[] = [
    ['id', fields.auditID ?? ''],
    ['stage', fields.stage ?? ''],
    ['ip', fields.sourceIPs?.[0] ?? '<unknown>'],
    ['method', fields.verb ?? ''],
    ['user', user?.username || '<none>'],
    ['groups', user?.username && user.groups.length > 0 ? listed(user.groups) : '<none>'],
    ['as', as?.username ?? '<self>'],
    ['asgroups', as ? listed(as.groups) : '<lookup>'],
    ['user-agent', fields.userAgent ?? ''],
    ['namespace', objectRef?.namespace || '<none>'],
    ['uri', fields.requestURI ?? ''],
    ['response', responseStatus ? String(responseStatus.code ?? 0) : '<deferred>'],
  ]
  const time = (fields.requestReceivedTimestamp ?? '').replace(/\.?0*Z$/, 'Z')
  return `${time} AUDIT: ${said.map(([name, value]) => `${name}=${quote(value)}`).join(' ')}`
}

interface EventFields {
  readonly auditID: string
  readonly stage: string
  readonly verb: string
  readonly requestURI: string
  readonly user: UserInfo
  readonly impersonatedUser: UserInfo
  readonly sourceIPs: readonly string[]
  readonly userAgent: string
  readonly objectRef: { readonly namespace?: string }
  readonly responseStatus: { readonly code?: number }
  readonly requestReceivedTimestamp: string
}

function listed(names: readonly string[]): string {
  return names.map(quote).join(',')
}

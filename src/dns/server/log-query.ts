import type { Log } from '#/platform/platform.ts'
import type { LogClass, LogSettings } from '../dns-configuration.ts'
import { responseCodes, type DnsMessage, type Question } from '../dns-message.ts'
import { responseCodeLabel, typeLabel } from '../dns-metrics.ts'

export interface LoggedQuery {
  readonly settings: LogSettings
  readonly log: Log
  readonly message: DnsMessage
  readonly transport: string
  readonly client: string
}

/** The plugin `log`. */
export function logQuery(
  { name, type }: Question,
  { settings, log, message, transport, client }: LoggedQuery,
): void {
  if (!settings.classes.some(each => each === 'all' || each === classOf(message))) return
  const rcode = responseCodeLabel(message.responseCode)
  log.info('DNS query', { client, transport, type: typeLabel(type), name, rcode })
}

function classOf({ responseCode, answers }: DnsMessage): LogClass {
  if (responseCode === responseCodes.nxDomain) return 'denial'
  if (responseCode !== responseCodes.noError) return 'error'
  return answers.length > 0 ? 'success' : 'denial'
}

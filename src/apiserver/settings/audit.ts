/** Audit settings from flags. */
import { dirname } from 'node:path'
import { UsageError } from '#/base/flags.ts'
import { messageOf } from '#/base/message-of.ts'
import type { Platform } from '#/platform/platform.ts'
import { parseAuditPolicy, type AuditLogSettings, type AuditSettings } from '../audit.ts'
import type { ApiServerFlags } from '../flags.ts'
import { readFlagKubeconfig, readFlagFile } from './flag-files.ts'

/** Undefined if auditing is disabled. Throws UsageError. */
export async function readAudit(
  flags: ApiServerFlags,
  platform: Platform,
): Promise<AuditSettings | undefined> {
  const path = flags['audit-policy-file']
  const policy = await readFlagFile(platform, { flag: 'audit-policy-file', path }, parseAuditPolicy)
  const given = Object.keys(flags).filter(name => name.startsWith('audit-'))
  if (policy === undefined) {
    if (given.length === 0) return undefined
    throw new UsageError(`--${given[0]} requires --audit-policy-file`)
  }
  const log = logOf(flags)
  const webhook = await readWebhook(flags, platform)
  if (!log && !webhook) {
    throw new UsageError('--audit-policy-file requires --audit-log-path or --audit-webhook-config-file')
  }
  if (log !== undefined) await requireWritable(platform, log.path)
  return { policy, ...(log && { log }), ...(webhook && { webhook }) }
}

function logOf(flags: ApiServerFlags): AuditLogSettings | undefined {
  const path = flags['audit-log-path']
  if (!path) {
    const other = Object.keys(flags).find(name => name.startsWith('audit-log-'))
    if (other) throw new UsageError(`--${other} requires --audit-log-path`)
    return undefined
  }
  return {
    path,
    format: flags['audit-log-format'] ?? 'json',
    mode: flags['audit-log-mode'] ?? 'blocking',
    sizeBytesMax: orInfinity(flags['audit-log-maxsize'] ?? 100) * 1024 * 1024,
    ageMsMax: orInfinity(flags['audit-log-maxage'] ?? 366) * dayMs,
    backupsMax: orInfinity(flags['audit-log-maxbackup'] ?? 100),
  }
}

/** Creates the file, so that a server that could not write its audit log does not start. */
async function requireWritable({ files }: Platform, path: string): Promise<void> {
  try {
    await files.makeFolder(dirname(path), { mode: 0o700 })
    await using _ = await files.openAppend(path, { mode: 0o600 })
  } catch (error) {
    throw new UsageError(`--audit-log-path ${path}: cannot be written: ${messageOf(error)}`)
  }
}

const dayMs = 24 * 3_600_000

/** In flags, 0 means unlimited. */
function orInfinity(value: number): number {
  return value === 0 ? Infinity : value
}

async function readWebhook(flags: ApiServerFlags, platform: Platform): Promise<AuditSettings['webhook']> {
  const flag = 'audit-webhook-config-file'
  const remote = await readFlagKubeconfig(platform, flag, flags[flag])
  if (remote === undefined) {
    const other = Object.keys(flags).find(name => name.startsWith('audit-webhook-'))
    if (other) throw new UsageError(`--${other} requires --${flag}`)
    return undefined
  }
  const isThrottled = flags['audit-webhook-batch-throttle-enable'] ?? true
  const perSecond = flags['audit-webhook-batch-throttle-qps'] ?? 10
  const burst = flags['audit-webhook-batch-throttle-burst'] ?? 15
  const bufferEventsMax = flags['audit-webhook-batch-buffer-size'] ?? 10_000
  const batchEventsMax = flags['audit-webhook-batch-max-size'] ?? 400
  if ([perSecond, burst, bufferEventsMax, batchEventsMax].includes(0)) {
    throw new UsageError('--audit-webhook-batch-* values must be positive')
  }
  return {
    remote,
    mode: flags['audit-webhook-mode'] ?? 'batch',
    bufferEventsMax,
    batchEventsMax,
    batchMsMax: flags['audit-webhook-batch-max-wait'] ?? 30_000,
    batches: isThrottled ? { perSecond, burst } : undefined,
    initialBackoffMs: flags['audit-webhook-initial-backoff'] ?? 10_000,
  }
}

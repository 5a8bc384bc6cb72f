/**
 * What a cluster does when the process before crashed: finds out why, waits if it crashes repeatedly, and reports it.
 * It holds the lock of the folder while it waits, so that `k8ts status` and `k8ts down` find it.
 */
import { join } from 'node:path'
import { namespaces } from '#/api/generated/core/v1-resources.ts'
import { backoffMs } from '#/base/backoff.ts'
import { messageOf } from '#/base/message-of.ts'
import type { Client } from '#/client/client.ts'
import { EventRecorder } from '#/client/event-recorder.ts'
import type { Platform, ProcessExit } from '#/platform/platform.ts'
import { lockFolder, type Crash, type HolderProgram } from './lock-folder.ts'

/** Kept in the folder of the cluster. */
interface CrashRecord extends Crash {
  /** A record of an earlier supervisor is ignored. */
  readonly supervisorPid: number
  /** Crashes of which each followed the one before within `healthyMs`. */
  readonly consecutive: number
  /** Delay of the restart. */
  readonly delayMs: number
  /** Why the process that was started then could not start the cluster. */
  readonly startFailure?: string
}

export interface CrashRecoveryOptions {
  readonly platform: Platform
  /** Folder of the cluster. */
  readonly folder: string
  /** Of Node's diagnostic report. */
  readonly reportPath: string
  /** This process. */
  readonly pid: number
  readonly supervisorPid: number
  readonly crashed: CrashedProcess
  /** Of this process. */
  readonly program: HolderProgram
}

interface CrashedProcess {
  readonly pid: number
  readonly exit: ProcessExit
}

/** Resolves when the cluster may start. Rejects when aborted. */
export async function recoverFromCrash(options: CrashRecoveryOptions, signal: AbortSignal): Promise<Crash> {
  const { platform, folder, reportPath, supervisorPid, crashed } = options
  const { files, clock, log } = platform
  await files.makeFolder(folder, { mode: 0o700 })
  const last = (await readJson(platform, crashRecordPath(folder))) as CrashRecord | undefined
  const previous = last?.supervisorPid === supervisorPid ? last : undefined
  const report = (await readJson(platform, reportPath)) as CrashReport | undefined
  const reason = describeCrash(crashed, { report, startFailure: previous?.startFailure })
  const record: CrashRecord = { reason, supervisorPid, ...planRestart(previous, clock.now()) }
  await files.write(crashRecordPath(folder), JSON.stringify(record), { mode: 0o600 })
  const { restarts, crashedMs, delayMs } = record
  log.error('Cluster crashed, restarting', { reason, restarts, delaySeconds: delayMs / 1_000 })
  const crash = { reason, restarts, crashedMs }
  if (delayMs > 0) await backOff(options, crash, { delayMs, signal })
  return crash
}

async function backOff(
  { platform, folder, pid, supervisorPid, program }: CrashRecoveryOptions,
  crash: Crash,
  { delayMs, signal }: { readonly delayMs: number; readonly signal: AbortSignal },
): Promise<void> {
  const { crashedMs } = crash
  const backOffUntilMs = crashedMs + delayMs
  const state = { crash, backOffUntilMs, isReady: false, startedMs: crashedMs }
  const holder = { pid, supervisorPid, program, ...state }
  await using _ = await lockFolder(platform, folder, () => holder)
  await platform.clock.sleep(delayMs, signal)
}

/** For the next process: why this one could not start the cluster. */
export async function recordStartFailure({ files }: Platform, folder: string, error: unknown): Promise<void> {
  const path = crashRecordPath(folder)
  const record = JSON.parse(Buffer.from(await files.read(path)).toString()) as CrashRecord
  await files.write(path, JSON.stringify({ ...record, startFailure: messageOf(error) }), { mode: 0o600 })
}

/** As for a container in CrashLoopBackOff: the first restart is immediate, and again after ten healthy minutes. */
export function planRestart(
  previous: Pick<CrashRecord, 'crashedMs' | 'restarts' | 'consecutive' | 'delayMs'> | undefined,
  crashedMs: number,
): Omit<CrashRecord, 'reason' | 'supervisorPid'> {
  const restarts = (previous?.restarts ?? 0) + 1
  const ranMs = previous ? crashedMs - previous.crashedMs - previous.delayMs : Infinity
  const consecutive = previous && ranMs < healthyMs ? previous.consecutive + 1 : 1
  return {
    crashedMs,
    restarts,
    consecutive,
    delayMs: consecutive === 1 ? 0 : backoffMs(consecutive - 1, backoff, 0),
  }
}

const backoff = { initialMs: 10_000, maxMs: 300_000, factor: 2, jitter: 0 }
const healthyMs = 600_000

/** The part of Node's diagnostic report that is used. */
interface CrashReport {
  readonly header: { readonly event: string; readonly processId: number }
  /** The exception, if one was not caught. */
  readonly javascriptStack?: { readonly message?: string }
}

export interface CrashEvidence {
  /** Of the last process that wrote one. */
  readonly report?: CrashReport | undefined
  readonly startFailure?: string | undefined
}

export function describeCrash(
  { pid, exit }: CrashedProcess,
  { report, startFailure }: CrashEvidence,
): string {
  if (report?.header.processId === pid) {
    const { event } = report.header
    if (event !== 'Exception') return `${event} (${describeExit(exit)})`
    return `uncaught exception: ${report.javascriptStack?.message ?? 'unknown'}`
  }
  if (startFailure !== undefined) return `the cluster could not start: ${startFailure}`
  return describeExit(exit)
}

function describeExit(exit: ProcessExit): string {
  if ('code' in exit) return `exit code ${exit.code}`
  return exit.signal === 'SIGKILL' ? 'SIGKILL, from the kernel if it was out of memory' : exit.signal
}

interface CrashEventOptions {
  readonly platform: Platform
  readonly client: Client
  readonly crash: Crash
}

/** Records an Event about the kube-system namespace, as for the alarms of the store, until aborted. */
export async function recordCrashEvent(options: CrashEventOptions, signal: AbortSignal): Promise<void> {
  const { platform, client, crash } = options
  const recorder = new EventRecorder({ platform, client, component: 'k8ts' })
  const name = 'kube-system'
  const found = await client.get(namespaces, { name }, { signal }).catch(() => undefined)
  const about = { apiVersion: 'v1', kind: 'Namespace', metadata: found?.metadata ?? { name } }
  const message = `the process of the cluster crashed and was restarted: ${crash.reason}`
  recorder.record(about, { type: 'Warning', reason: 'ClusterRestarted', message })
  await recorder.run(signal)
}

/** Read after a crash only: a cluster that is started otherwise removes it. */
export function crashRecordPath(folder: string): string {
  return join(folder, 'last-crash.json')
}

/** Undefined if there is no such file, or a torn one: the process crashed while it was written. */
async function readJson({ files }: Platform, path: string): Promise<unknown> {
  if ((await files.stat(path)) === undefined) return undefined
  try {
    return JSON.parse(Buffer.from(await files.read(path)).toString())
  } catch {
    return undefined
  }
}

/**
 * The flags that kube-controller-manager and kube-scheduler share, for the commands that run them, and what they set
 * up. https://kubernetes.io/docs/reference/command-line-tools-reference/kube-scheduler/
 */
import { resolve } from 'node:path'
import { parseIp } from '#/api/net/ip.ts'
import { tryParseDurationMs } from '#/api/text/duration.ts'
import {
  boolFlag,
  enumFlag,
  integerFlag,
  stringFlag,
  UsageError,
  valueFlag,
  type Flag,
  type FlagValues,
} from '#/base/flags.ts'
import { messageOf } from '#/base/message-of.ts'
import type { ComponentElection, ComponentServing } from '#/cluster/component-process.ts'
import type { HttpTls } from '#/platform/http.ts'
import type { Files } from '#/platform/platform.ts'
import { verbosityFlag } from './verbosity.ts'

export const componentFlags = {
  'kubeconfig': file('how to reach the API server; in a pod its service account when absent'),
  'authentication-kubeconfig': file('client that verifies tokens; without it tokens are ignored'),
  'authorization-kubeconfig': file(
    'client that authorizes requests for metrics; without it they are refused',
  ),
  'bind-address': valueFlag('ADDRESS', 'address to serve health and metrics at (0.0.0.0)', {
    parse: given => (parseIp(given) === undefined ? undefined : given),
    what: 'an address',
  }),
  'secure-port': valueFlag('N', 'port to serve health and metrics at; 0 turns it off', {
    parse: given => (/^\d{1,5}$/.test(given) && Number(given) < 2 ** 16 ? Number(given) : undefined),
    what: 'a port',
  }),
  'tls-cert-file': file('serving certificate; self-signed and in memory when absent'),
  'tls-private-key-file': file('key of --tls-cert-file'),
  'client-ca-file': file('authorities of client certificates; those of the API server when absent'),
  'leader-elect': boolFlag('wait for the lease before acting, for several replicas (true)'),
  'leader-elect-lease-duration': duration('time that the other replicas wait for a renewal (15s)'),
  'leader-elect-renew-deadline': duration('time after which the leader gives up renewing (10s)'),
  'leader-elect-retry-period': duration('time between attempts (2s)'),
  'leader-elect-resource-lock': enumFlag(['leases'], 'type of the lock'),
  'leader-elect-resource-name': stringFlag('NAME', 'name of the lease (that of the component)'),
  'leader-elect-resource-namespace': stringFlag('NAME', 'namespace of the lease (kube-system)'),
  'kube-api-qps': valueFlag('N', 'maximum requests per second to the API server (unlimited)', {
    parse: given => (Number(given) > 0 ? Number(given) : undefined),
    what: 'a positive number',
  }),
  'kube-api-burst': integerFlag('N', 'requests that may exceed --kube-api-qps at once (30)'),
  ...verbosityFlag,
}

export type ComponentFlags = FlagValues<typeof componentFlags>

export function file(help: string): Flag<string> {
  return valueFlag('FILE', help, { parse: given => resolve(given), what: 'a file' })
}

export function duration(help: string): Flag<number> {
  const parse = (given: string): number | undefined => {
    const ms = tryParseDurationMs(given)
    return ms !== undefined && ms > 0 ? ms : undefined
  }
  return valueFlag('DURATION', help, { parse, what: 'a duration above 0, such as 15s' })
}

/** Undefined if the component leads without a lease. Flags override `usual`. Throws UsageError. */
export function electionOf(
  flags: ComponentFlags,
  usual: ComponentElection & { readonly isDisabled?: boolean },
): ComponentElection | undefined {
  const { lease, isDisabled = false } = usual
  if (!(flags['leader-elect'] ?? !isDisabled)) return undefined
  const timings = {
    leaseDurationMs: flags['leader-elect-lease-duration'] ?? usual.timings.leaseDurationMs,
    renewDeadlineMs: flags['leader-elect-renew-deadline'] ?? usual.timings.renewDeadlineMs,
    retryPeriodMs: flags['leader-elect-retry-period'] ?? usual.timings.retryPeriodMs,
  }
  if (timings.leaseDurationMs <= timings.renewDeadlineMs)
    throw new UsageError('--leader-elect-lease-duration must be greater than --leader-elect-renew-deadline')
  if (timings.renewDeadlineMs <= timings.retryPeriodMs * retryJitterMax)
    throw new UsageError(
      '--leader-elect-renew-deadline must be greater than 1.2 times --leader-elect-retry-period',
    )
  const namespace = flags['leader-elect-resource-namespace'] ?? lease.namespace
  const name = flags['leader-elect-resource-name'] ?? lease.name
  return { lease: { namespace, name }, timings }
}

/** The lease of a component when neither flags nor a file say otherwise. */
export function usualElection(component: string): ComponentElection {
  const timings = { leaseDurationMs: 15_000, renewDeadlineMs: 10_000, retryPeriodMs: 2_000 }
  return { lease: { namespace: 'kube-system', name: component }, timings }
}

const retryJitterMax = 1.2

/** Undefined if nothing is served. Throws UsageError. */
export async function servingOf(
  flags: ComponentFlags,
  files: Files,
  usualPort: number,
): Promise<ComponentServing | undefined> {
  const port = flags['secure-port'] ?? usualPort
  if (port === 0) return undefined
  const { 'tls-cert-file': certFile, 'tls-private-key-file': keyFile, 'client-ca-file': caFile } = flags
  if ((certFile === undefined) !== (keyFile === undefined))
    throw new UsageError('--tls-cert-file and --tls-private-key-file are required together')
  const read = async (): Promise<Partial<HttpTls>> => ({
    ...(certFile && { cert: await readFlagFile(files, 'tls-cert-file', certFile) }),
    ...(keyFile && { key: await readFlagFile(files, 'tls-private-key-file', keyFile) }),
    ...(caFile && { clientCa: await readFlagFile(files, 'client-ca-file', caFile) }),
  })
  await read()
  return { host: flags['bind-address'] ?? '0.0.0.0', port, read, hasClientCa: caFile !== undefined }
}

/** Throws UsageError that names the flag. */
export async function readFlagFile(files: Files, flag: string, path: string): Promise<string> {
  try {
    return Buffer.from(await files.read(path)).toString()
  } catch (cause) {
    throw new UsageError(`--${flag} ${path}: ${messageOf(cause)}`, { cause })
  }
}

/** The controllers that the flags ask for, with the files that they name. */
import { createPrivateKey } from 'node:crypto'
import { parseCidr } from '#/api/net/cidr.ts'
import { UsageError } from '#/base/flags.ts'
import { keyIdOf } from '#/base/json-web-key.ts'
import { signToken } from '#/base/json-web-token.ts'
import { messageOf } from '#/base/message-of.ts'
import type { Controller } from '#/controllers/controller.ts'
import { controllersOf, type ControllersSettings } from '#/controllers/controllers.ts'
import { csrSigner } from '#/kubeadm/csr-signer.ts'
import type { Platform } from '#/platform/platform.ts'
import { readFlagFile } from '../component-flags.ts'
import { enabledControllers } from './enabled-controllers.ts'
import { concurrency, type ControllerManagerFlags } from './flags.ts'

export interface ControllersFromFlagsOptions {
  readonly platform: Platform
  readonly crypto: Crypto
  /** Authorities of the API server, PEM, if they are known. */
  readonly serverCa: string | undefined
}

/** Throws UsageError. */
export async function controllersFromFlags(
  flags: ControllerManagerFlags,
  options: ControllersFromFlagsOptions,
): Promise<readonly Controller[]> {
  const isEnabled = enabledControllers(flags.controllers)
  const settings: ControllersSettings = {
    hasStorageVersionMigrator: flags['feature-gates']?.includes('StorageVersionMigrator') ?? false,
    ...(await trustSettings(flags, options)),
    ...addressSettings(flags),
    ...tuning(flags),
  }
  const workers = new Map(concurrency.map(([flag, name]) => [name as string, flags[flag]]))
  return controllers(settings)
    .filter(({ name }) => isEnabled(name))
    .map(controller => {
      const count = workers.get(controller.name)
      return count ? { ...controller, workers: count } : controller
    })
}

function controllers(settings: ControllersSettings): readonly Controller[] {
  try {
    return controllersOf(settings)
  } catch (cause) {
    throw new UsageError(messageOf(cause), { cause })
  }
}

async function trustSettings(
  flags: ControllerManagerFlags,
  { platform, crypto, serverCa }: ControllersFromFlagsOptions,
): Promise<ControllersSettings> {
  type FileFlag = 'root-ca-file' | 'cluster-signing-cert-file' | 'cluster-signing-key-file' | TokenKey
  type TokenKey = 'service-account-private-key-file'
  const read = async (flag: FileFlag): Promise<string | undefined> => {
    const path = flags[flag]
    return path === undefined ? undefined : readFlagFile(platform.files, flag, path)
  }
  const caCertificate = (await read('root-ca-file')) ?? serverCa
  const cert = await read('cluster-signing-cert-file')
  const key = await read('cluster-signing-key-file')
  if ((cert === undefined) !== (key === undefined))
    throw new UsageError('--cluster-signing-cert-file and --cluster-signing-key-file are required together')
  const tokenKey = await read('service-account-private-key-file')
  const { 'cluster-signing-duration': certificateDurationMs } = flags
  return {
    ...(caCertificate && { caCertificate }),
    ...(cert && key && { signCertificate: csrSigner({ platform, crypto }, { cert, key }) }),
    ...(certificateDurationMs && { certificateDurationMs }),
    ...(tokenKey && { signToken: tokenSigner(tokenKey) }),
  }
}

function tokenSigner(pem: string): NonNullable<ControllersSettings['signToken']> {
  try {
    const privateKey = createPrivateKey(pem)
    const keyId = keyIdOf(privateKey)
    return claims => signToken(claims, { privateKey, keyId })
  } catch (cause) {
    throw new UsageError(`--service-account-private-key-file: ${messageOf(cause)}`, { cause })
  }
}

function addressSettings(flags: ControllerManagerFlags): ControllersSettings {
  const { 'cluster-cidr': clusterCidrs, 'service-cluster-ip-range': serviceCidrs } = flags
  const { 'load-balancer-addresses': loadBalancerAddresses = [] } = flags
  for (const flag of ['cluster-cidr', 'service-cluster-ip-range'] as const) {
    const wrong = (flags[flag] ?? []).find(each => parseCidr(each) === undefined)
    if (wrong !== undefined) throw new UsageError(`--${flag} ${wrong}: must be a CIDR such as 10.244.0.0/16`)
  }
  const isAllocating = flags['allocate-node-cidrs'] ?? false
  if (isAllocating && !clusterCidrs) throw new UsageError('--allocate-node-cidrs requires --cluster-cidr')
  return {
    ...(isAllocating && clusterCidrs && { clusterCidrs, ...maskSizes(flags, clusterCidrs) }),
    ...(serviceCidrs && { serviceCidrs }),
    ...(loadBalancerAddresses.length > 0 && { loadBalancerAddresses }),
  }
}

function maskSizes(flags: ControllerManagerFlags, clusterCidrs: readonly string[]): ControllersSettings {
  const { 'node-cidr-mask-size': size } = flags
  const { 'node-cidr-mask-size-ipv4': sizeIpv4, 'node-cidr-mask-size-ipv6': sizeIpv6 } = flags
  if (size !== undefined && clusterCidrs.length > 1)
    throw new UsageError(
      '--node-cidr-mask-size: set --node-cidr-mask-size-ipv4 and -ipv6 with two cluster CIDRs',
    )
  const ipv4 = size ?? sizeIpv4
  const ipv6 = size ?? sizeIpv6
  return {
    nodeCidrPrefixLengths: { ...(ipv4 !== undefined && { ipv4 }), ...(ipv6 !== undefined && { ipv6 }) },
  }
}

function tuning(flags: ControllerManagerFlags): ControllersSettings {
  const autoscaling = {
    syncMs: flags['horizontal-pod-autoscaler-sync-period'],
    downscaleWindowMs: flags['horizontal-pod-autoscaler-downscale-stabilization'],
    tolerance: flags['horizontal-pod-autoscaler-tolerance'],
    cpuInitializationMs: flags['horizontal-pod-autoscaler-cpu-initialization-period'],
    initialReadinessDelayMs: flags['horizontal-pod-autoscaler-initial-readiness-delay'],
  }
  return {
    horizontalPodAutoscaler: given(autoscaling),
    nodeLifecycle: given({
      graceMs: flags['node-monitor-grace-period'],
      startupGraceMs: flags['node-startup-grace-period'],
    }),
    podGarbageCollector: given({ terminatedPodThreshold: flags['terminated-pod-gc-threshold'] }),
    endpoints: given({ endpointUpdatesBatchPeriodMs: flags['endpoint-updates-batch-period'] }),
    endpointSlice: given({
      maxEndpointsPerSlice: flags['max-endpoints-per-slice'],
      endpointUpdatesBatchPeriodMs: flags['endpointslice-updates-batch-period'],
    }),
    legacyTokenCleaner: given({ periodMs: flags['legacy-service-account-token-clean-up-period'] }),
  }
}

/** Without the values that are undefined. */
function given<T extends object>(values: T): { [Key in keyof T]?: NonNullable<T[Key]> } {
  const entries = Object.entries(values).filter(([, value]) => value !== undefined)
  return Object.fromEntries(entries) as { [Key in keyof T]?: NonNullable<T[Key]> }
}

/**
 * What a proxy mode does: it makes the machine handle packets to services as planned (`plan.ts`). Changes are collected
 * by `set` and written together by `apply`.
 */
import type { IpFamily } from '#/api/net/ip.ts'
import type { Linux } from '#/platform/linux.ts'
import type { Log } from '#/platform/platform.ts'
import type { PortPlan } from './plan.ts'

export const proxyModes = ['nftables', 'iptables', 'userspace'] as const

export type ProxyMode = (typeof proxyModes)[number]

export interface Proxier extends AsyncDisposable {
  /** The mode that has effect. */
  readonly mode: ProxyMode
  /** Sets the plans of a service; none for a deleted one. Written by `apply`. */
  set(service: string, ports: readonly PortPlan[]): void
  /** True if the next `apply` replaces all rules. */
  readonly isFullSyncNeeded: boolean
  /** Delay after which an `apply` without a change has something to do; undefined if there is nothing. */
  readonly nextApplyMs: number | undefined
  /**
   * Writes pending changes. False if all rules had to be replaced because they had been modified. Throws Error when
   * that fails too; the next call retries.
   */
  apply(nowMs: number, signal: AbortSignal): Promise<boolean>
  /** True if the rules exist: another program may have flushed all rules of the machine. */
  verify(signal: AbortSignal): Promise<boolean>
}

export interface ProxierOptions {
  /** Runs commands in the node's network namespace. */
  readonly linux: Pick<Linux, 'run'>
  readonly log: Log
  readonly network: ProxyNetwork
  /** Called when the kernel has rejected a transaction: one that only deletes unused chains, or any other. */
  readonly onRejected?: (kind: 'cleanup' | 'sync') => void
}

/** The network of the node. Ranges and addresses may be of both families. */
export interface ProxyNetwork {
  /** Name of the nftables tables, from which the names of iptables chains are derived. */
  readonly table: string
  readonly families: readonly IpFamily[]
  /** Ranges of all pods of the cluster. */
  readonly podCidrs: readonly string[]
  /** Packets to unassigned addresses in these ranges are dropped. */
  readonly serviceCidrs: readonly string[]
  readonly nodeAddresses: readonly string[]
  /**
   * Local addresses that accept node ports; by default all but loopback addresses. The node's addresses
   * always accept them.
   */
  readonly nodePortAddresses?: readonly string[]
  /**
   * Addresses of other clusters on this machine: they do not accept node ports, unless they are addresses of
   * the node.
   */
  readonly foreignAddresses?: readonly string[]
}

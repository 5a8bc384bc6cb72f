/**
 * Three control plane hosts with an etcd member each, made by `k8ts init` and `k8ts join`, with a StatefulSet.
 * `k8ts host run` starts what is killed again, so that a fault heals by itself; faults do not overlap, since two of
 * three hosts must work.
 */
import { cp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { HostCluster } from '../../../tests/hosts/host-cluster.ts'
import type { HostMachine } from '../../../tests/hosts/host-machine.ts'
import type { Fault, FaultKind, MissingFault } from '../faults.ts'
import { isServing } from './api-server.ts'
import { PodInstances } from './pod-instances.ts'
import type { Target, TargetOptions } from './target.ts'

const hostCount = 3

export async function startHostsTarget({ folder, logFolder }: TargetOptions): Promise<Target> {
  await using stack = new AsyncDisposableStack()
  stack.defer(() => rm(folder, { recursive: true, force: true }))
  const shape = { controlPlanes: hostCount, workers: 0, bridge: 'here' } as const
  const cluster = stack.use(await HostCluster.boot({ folder, ...shape }))
  stack.defer(() => keepLogs(cluster, logFolder))
  await cluster.start()
  const set = await PodInstances.start(cluster)
  const started = stack.move()
  return {
    kubeconfigs: cluster.machines.map(kubeconfigOf),
    faults: [...hostFaults(cluster), isolate(cluster, set)],
    unavailableMsMax,
    check: () => set.check(),
    missingFaults: noFaults,
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  }
}

/** An election of etcd, and a request that was sent before, take a few seconds. */
const unavailableMsMax = 15_000

/** A pod of a host that is cut off may still run: it must not be replaced before its kubelet has confirmed its end. */
function isolate(cluster: HostCluster, set: PodInstances): Fault {
  const { machines } = cluster
  let count = 0
  return {
    kind: 'isolate',
    parts: ['network'],
    inject: async () => {
      const machine = machines[count % machines.length]!
      const witness = machines[++count % machines.length]!
      await cluster.cutOff(machine)
      return async () => {
        await set.untilEvicted(machine, witness)
        await cluster.reconnect(machine)
        await untilServing(machine)
        await set.untilReady(witness)
      }
    },
  }
}

/** Each fault comes to one host after the other, or to the one that leads. */
function hostFaults(cluster: HostCluster): readonly Fault[] {
  const { machines } = cluster
  const inTurn = (): (() => Promise<HostMachine>) => {
    let count = 0
    return async () => machines[count++ % machines.length]!
  }
  const kill = (kind: FaultKind, program: keyof typeof programs, choose = inTurn()): Fault => ({
    kind,
    parts: ['network'],
    inject: async () => {
      const machine = await choose()
      await killProgram(machine, program)
      return async () => {
        await untilServing(machine)
      }
    },
  })
  const nextCutOff = inTurn()
  const cutOff: Fault = {
    kind: 'cut-off',
    parts: ['network'],
    inject: async () => {
      const machine = await nextCutOff()
      await cluster.cutOff(machine)
      return async () => {
        await cluster.reconnect(machine)
        await untilServing(machine)
      }
    },
  }
  const leader = (lease: string) => () => leaseHolder(cluster, lease)
  return [
    kill('kill', 'kube-apiserver'),
    kill('kill-member', 'etcd'),
    kill('kill-host', 'host'),
    kill('kill-etcd-leader', 'etcd', () => etcdLeader(cluster)),
    kill('kill-controllers', 'kube-controller-manager', leader('kube-controller-manager')),
    kill('kill-scheduler', 'kube-scheduler', leader('kube-scheduler')),
    cutOff,
  ]
}

const noFaults: readonly MissingFault[] = (
  ['stop', 'damage', 'full-disk', 'sync-error', 'slow-sync', 'stop-member', 'partition'] as const
).map(kind => ({ kind, reason: 'not with --target hosts' }))

/** Patterns of their command lines. */
const programs = {
  'etcd': '^etcd ',
  'kube-apiserver': 'main.[jt]s apiserver ',
  'kube-controller-manager': 'main.[jt]s controller-manager ',
  'kube-scheduler': 'main.[jt]s scheduler ',
  'host': 'main.[jt]s host run',
} as const

/** It may have ended at this moment, or not yet be started again. */
async function killProgram(machine: HostMachine, program: keyof typeof programs): Promise<void> {
  const kill = ['pkill', '-KILL', '--full', programs[program]]
  while ((await machine.run(kill)).code !== 0) await sleep(pollMs)
}

function kubeconfigOf(machine: HostMachine): string {
  return join(machine.dataFolder, 'admin.conf')
}

async function untilServing(machine: HostMachine): Promise<void> {
  while (!(await isServing(kubeconfigOf(machine)))) await sleep(pollMs)
}

/** The host whose replica of a component holds the lease. */
async function leaseHolder({ machines }: HostCluster, lease: string): Promise<HostMachine> {
  const fields = ['-o', 'jsonpath={.spec.holderIdentity}']
  const holder = await machines[0]!.kubectl('get', 'lease', '-n', 'kube-system', lease, ...fields)
  return machines.find(({ name }) => holder.startsWith(`${name}_`)) ?? machines[0]!
}

async function etcdLeader({ machines }: HostCluster): Promise<HostMachine> {
  for (;;) {
    for (const machine of machines) {
      const [status] = JSON.parse(
        await machine.etcdctl('endpoint', 'status', '-w', 'json'),
      ) as EndpointStatus[]
      if (status?.Status.leader === status?.Status.header.member_id) return machine
    }
    await sleep(pollMs)
  }
}

interface EndpointStatus {
  readonly Status: { readonly header: { readonly member_id: number }; readonly leader: number }
}

async function keepLogs({ machines }: HostCluster, logFolder: string): Promise<void> {
  for (const { name, dataFolder } of machines) {
    const logs = join(dataFolder, 'logs')
    await cp(logs, join(logFolder, name), { recursive: true }).catch(() => undefined)
  }
}

const pollMs = 200

/**
 * A program: makes the files of a control plane host as they were made eleven months ago, and runs the host as
 * `k8ts host run` does, whose clock jumps to the present as soon as the file `jump` exists.
 */
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Host } from '#/cluster/host.ts'
import { writeHostProcessRecord } from '#/cluster/host-process-records.ts'
import { planHostEtcd } from '#/commands/host-etcd.ts'
import { planControlPlaneProcesses } from '#/kubeadm/host-processes.ts'
import { runCertsPhase, runKubeconfigPhase } from '#/kubeadm/init-files.ts'
import { planInit } from '#/kubeadm/init-settings.ts'
import { connectHttp, nodeCrypto, nodeLinux, nodePlatform, terminationSignal } from '#/platform/node.ts'

const elevenMonthsMs = 335 * 24 * 3_600_000

const [path = '', hostname = '', address = ''] = process.argv.slice(2)
const folder = resolve(path)
const machine = nodePlatform({ log: { level: 'info', format: 'text' } })
const isPresent = (): boolean => existsSync(join(folder, 'jump'))
const now = (): number => machine.clock.now() - (isPresent() ? 0 : elevenMonthsMs)
const platform = { ...machine, clock: { ...machine.clock, now } }
const crypto = nodeCrypto()

const settings = planInit({
  folder,
  configuration: { init: {}, cluster: { etcd: { local: {} } }, kubelet: undefined },
  kubernetesVersion: 'v1.36.0',
  machine: { hostname, address },
})
const { ca } = await runCertsPhase({ platform, crypto }, settings)
await runKubeconfigPhase({ platform, crypto }, settings, { ca })
const { command, environment } = await planHostEtcd(platform, settings)
for (const process of [{ name: 'etcd', command, environment }, ...planControlPlaneProcesses(settings)])
  await writeHostProcessRecord(platform.files, folder, process)
const main = fileURLToPath(import.meta.resolve('#/main.ts'))
const program = [process.execPath, ...process.execArgv, main]
const linux = await nodeLinux()
await new Host({
  platform,
  linux,
  connectHttp,
  crypto,
  folder,
  program,
  pid: process.pid,
  version: '0.0.0',
}).run(terminationSignal({ deadlineMs: 30_000 }))

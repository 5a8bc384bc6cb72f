/** `k8ts host`: the processes of this machine as a host of a cluster of several machines. */
import { describeFlags, UsageError } from '#/base/flags.ts'
import { Host } from '#/cluster/host.ts'
import { processLogPath, readHostProcessRecords } from '#/cluster/host-process-records.ts'
import { hostUnitPath, planHostUnit } from '#/cluster/host-unit.ts'
import {
  connectHttp,
  findLauncher,
  findSupervisor,
  handOverExitCode,
  loadGrpc,
  nodeCrypto,
  nodeLinux,
  nodePlatform,
  processId,
  programCommand,
  programPaths,
  reportCrashes,
  terminationSignal,
} from '#/platform/node.ts'
import { refreshStaticPods } from '#/cluster/refresh-static-pods.ts'
import { isHandOver } from '#/platform/hand-over.ts'
import { join } from 'node:path'
import { dataFolder, dataFolderFlag } from './data-folder.ts'
import { startHost } from './start-host.ts'
import { stopOwner } from './stop-owner.ts'
import { logLevel, verbosityFlag } from './verbosity.ts'
import { commandWithVerbs, type Invocation } from './verbs.ts'
import manifest from '../../package.json' with { type: 'json' }

const hostFlags = { ...dataFolderFlag, ...verbosityFlag }

const help = `Usage: k8ts host start|stop|run|unit [--data-dir DIR]

Runs the processes of this host of a cluster, which k8ts init or k8ts join has recorded in DIR/processes, and restarts
those that exit. Their logs are in DIR/logs.

  start  runs them in the background; after the machine has booted, for example
  stop   stops them; containers go on, as when a kubelet stops
  run    runs them in the foreground, for a service manager
  unit   prints a unit of systemd that runs them

${describeFlags(hostFlags)}
Examples:
  k8ts host start
  k8ts host unit >${hostUnitPath} && systemctl enable k8ts
      from the next boot of the machine on
`

export const command = commandWithVerbs({
  name: 'host',
  help,
  flags: hostFlags,
  takesArguments: false,
  verbs: new Map([
    ['start', start],
    ['stop', stop],
    ['run', run],
    ['unit', unit],
  ]),
})

type HostInvocation = Invocation<typeof hostFlags>

async function start({ platform, terminal, flags }: HostInvocation): Promise<number> {
  const folder = dataFolder(flags)
  await requireRecords(platform.files, folder)
  const state = await startHost(platform, folder)
  terminal.write(
    state === 'running'
      ? 'already running\n'
      : `running in the background, log: ${processLogPath(folder, 'host')}\n`,
  )
  return 0
}

async function stop({ platform, terminal, flags }: HostInvocation): Promise<number> {
  await stopOwner(platform, dataFolder(flags), text => terminal.write(`${text}\n`))
  return 0
}

async function run({ flags }: HostInvocation): Promise<number> {
  const folder = dataFolder(flags)
  const platform = nodePlatform({ log: { level: logLevel(flags.v ?? 0), format: 'text' } })
  await requireRecords(platform.files, folder)
  const signal = terminationSignal({ deadlineMs: stopDeadlineMs, handsOver: true })
  reportCrashes(join(folder, 'crash-report.json'))
  const linux = await nodeLinux()
  const machine = { connectHttp, crypto: nodeCrypto(), program: programCommand(), pid: processId() }
  const launcher = findLauncher()
  const supervisorPid = findSupervisor()?.pid
  const holder = { ...(launcher !== undefined && { launcher }), ...(supervisorPid && { supervisorPid }) }
  const { version } = manifest
  const installed = { version, ...programPaths() }
  await Promise.all([
    new Host({ platform, linux, folder, ...machine, ...holder, version }).run(signal),
    refreshStaticPods({ platform, linux, connectHttp, loadGrpc, folder, program: installed }, signal),
  ])
  return isHandOver(signal) ? handOverExitCode : 0
}

/** Also before `k8ts init`, for an image of a machine. */
async function unit({ terminal, flags }: HostInvocation): Promise<number> {
  const launcher = findLauncher()
  const program = launcher === undefined ? programCommand() : [launcher]
  terminal.write(planHostUnit({ program, node: programPaths().node, folder: dataFolder(flags) }))
  return 0
}

/** The process exits within this time after SIGTERM in any case. */
const stopDeadlineMs = 33_000

async function requireRecords(
  files: Parameters<typeof readHostProcessRecords>[0],
  folder: string,
): Promise<void> {
  if ((await readHostProcessRecords(files, folder)).length > 0) return
  throw new UsageError(`${folder} has no processes to run: run k8ts init or k8ts join first`)
}

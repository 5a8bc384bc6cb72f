/** A unit of systemd that runs the processes of a host of a cluster, from the boot of the machine on. */
import { dirname } from 'node:path/posix'
import { processesFolder } from './host-process-records.ts'

export interface HostUnitOptions {
  /** The command that runs this program, best its launcher, which upgrades replace. The first word is a path. */
  readonly program: readonly string[]
  /** Path of Node, for the launcher of an installed package. */
  readonly node: string
  /** The folder of the host. */
  readonly folder: string
}

export const hostUnitPath = '/etc/systemd/system/k8ts.service'

export function planHostUnit({ program, node, folder }: HostUnitOptions): string {
  const command = [...program, 'host', 'run', '--data-dir', folder].map(quoteWord).join(' ')
  return `[Unit]
Description=k8ts, a host of a Kubernetes cluster
Wants=network-online.target
After=network-online.target
# After k8ts reset there is nothing to run.
ConditionDirectoryNotEmpty=${escapeSpecifiers(processesFolder(folder))}
StartLimitIntervalSec=0

[Service]
Environment=${quoteValue(`PATH=${dirname(node)}:${systemPath}`)}
ExecStart=${command}
# Not after k8ts host stop.
Restart=on-failure
RestartSec=2
TimeoutStopSec=45
# The processes of the host stop with it. Containers and their shims go on.
KillMode=process
Delegate=yes
LimitNOFILE=1048576
LimitNPROC=infinity
LimitCORE=infinity
TasksMax=infinity
OOMScoreAdjust=-999

[Install]
WantedBy=multi-user.target
`
}

const systemPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

/** As systemd splits command lines: https://www.freedesktop.org/software/systemd/man/latest/systemd.service.html */
function quoteWord(word: string): string {
  return quoteValue(word.replaceAll('$', '$$$$'))
}

function quoteValue(value: string): string {
  const escaped = escapeSpecifiers(value)
  if (/^[\w%$./:=@,+-]+$/.test(escaped)) return escaped
  return `"${escaped.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`
}

function escapeSpecifiers(text: string): string {
  return text.replaceAll('%', '%%')
}

/** `k8ts scheduler`: runs only the scheduler, for a cluster whose API server is reached by a kubeconfig. */
import { abortable } from '#/base/abort.ts'
import { describeFlags, parseFlags } from '#/base/flags.ts'
import { schedulerPart, schedulerPort } from '#/cluster/component-parts.ts'
import { readScheduler } from '#/cluster/read-scheduler.ts'
import type { Command } from '#/command-line/command.ts'
import { connectHttp, importModule, nodePlatform, terminationSignal } from '#/platform/node.ts'
import { defaultProfiles } from '#/scheduler/default-profile.ts'
import { Scheduler } from '#/scheduler/scheduler.ts'
import { componentFlags, electionOf, file, usualElection } from './component-flags.ts'
import { componentStopDeadlineMs, runComponent } from './run-component.ts'
import { logLevel } from './verbosity.ts'

const flagsOf = {
  config: file('KubeSchedulerConfiguration; the flags below override it'),
  ...componentFlags,
}

const help = `Usage: k8ts scheduler [FLAGS]

Runs the scheduler as a process of its own, with the flags of kube-scheduler. Several replicas may run: the one that
holds the lease schedules, and another one takes over when it ends. Health and metrics are served over HTTPS at port
10259. SIGTERM or ctrl-C releases the lease and stops it; the exit code is 1 when the lease was lost.

${describeFlags(flagsOf)}
Examples:
  k8ts scheduler --kubeconfig scheduler.conf
      schedules the pods of a cluster
  k8ts scheduler --config scheduler.yaml --leader-elect=false --secure-port 0
      profiles of a configuration file, one replica, no server
`

const name = 'kube-scheduler'

export const command: Command = {
  help,
  async run(parameters, terminal) {
    const flags = parseFlags(parameters, flagsOf)
    const platform = nodePlatform({ log: { level: logLevel(flags.v ?? 0), format: 'text' } })
    const signal = terminationSignal({ deadlineMs: componentStopDeadlineMs })
    const context = { platform, connectHttp, importModule }
    const files = flags.config === undefined ? {} : { schedulerConfig: flags.config, flag: 'config' }
    await using configuration = await readScheduler(files, context)
    const usual = configuration === undefined ? usualElection(name) : configuration.leaderElection
    const election = electionOf(flags, usual ?? { ...usualElection(name), isDisabled: true })
    const { delayCacheUntilActive = false, backoffMs, profiles = defaultProfiles } = configuration ?? {}
    return await runComponent({
      platform,
      terminal,
      name,
      flags,
      kubeconfig: configuration?.kubeconfig,
      limits: configuration?.requestLimits,
      election,
      usualPort: schedulerPort,
      signal,
      component: async ({ client, metrics }) => {
        const scheduler = new Scheduler({
          platform,
          client,
          metrics,
          profiles,
          ...(backoffMs && { backoffMs }),
        })
        let isStarted = false
        return checks => ({
          part: schedulerPart({ scheduler, metrics, stopping: signal, checks, isStarted: () => isStarted }),
          run: async (ended, elected) => {
            if (delayCacheUntilActive) await abortable(elected, ended).catch(() => undefined)
            isStarted = true
            await scheduler.run(ended, elected)
          },
        })
      },
    })
  },
}

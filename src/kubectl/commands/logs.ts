import { ApiError } from '#/api/errors.ts'
import { quote } from '#/api/text/quote.ts'
import type { Pod } from '#/api/generated/core/v1.ts'
import { defineCommand, type Invocation } from '../command.ts'
import { CommandUsageError, ExitError } from '../errors.ts'
import { boolFlag, durationFlag, intFlag, stringFlag } from '../flag-types.ts'
import { logSources } from '../logs/log-sources.ts'
import { printLogs } from '../logs/print-logs.ts'
import type { LogQuery } from '../logs/read-log.ts'
import { podRunningTimeoutFlag, timeoutTooShort } from '../pods/pod-flags.ts'
import { podIn, podsOf } from '../pods/pods-of.ts'
import { compareForLogs } from '../pods/pod-order.ts'
import { requireResources } from '../resource/find-resources.ts'

const usage = 'logs [-f] [-p] (POD | TYPE/NAME) [-c CONTAINER]'

const flags = {
  'all-containers': boolFlag('Print the logs of all containers of the pods.'),
  'all-pods': boolFlag('Print the logs of all pods of the object, each line with its pod. Implies --prefix.'),
  'container': stringFlag('Name of the container.', { shorthand: 'c' }),
  'follow': boolFlag('Print new lines as they are written.', { shorthand: 'f' }),
  'ignore-errors': boolFlag('Go on with the next log if one cannot be read.'),
  'insecure-skip-tls-verify-backend': boolFlag(
    "Do not verify the kubelet's certificate, which may have expired. The log may then come from an attacker.",
  ),
  'limit-bytes': intFlag('Maximum size of each log in bytes; 0 for no limit.'),
  'max-log-requests': intFlag('Maximum number of logs that are followed at the same time.', {
    shownDefault: '5',
  }),
  'pod-running-timeout': podRunningTimeoutFlag('20s'),
  'prefix': boolFlag('Put the name of the pod and the container before each line.'),
  'previous': boolFlag('Print the log of the instance before the last restart of the container.', {
    shorthand: 'p',
  }),
  'selector': stringFlag(
    'Label selector of pods: key=value, key!=value, key in (a,b), key notin (a,b), key, !key.',
    {
      shorthand: 'l',
    },
  ),
  'since': durationFlag('Print only lines that are not older than this: 5s, 2m, 3h. Excludes --since-time.'),
  'since-time': stringFlag('Print only lines since this time in the format of RFC 3339. Excludes --since.'),
  'tail': intFlag(
    'Number of lines from the end; -1 for all, which is the default unless --selector is given (then 10).',
    {
      shownDefault: '-1',
    },
  ),
  'timestamps': boolFlag('Print the time of each line.'),
}

type LogsInvocation = Invocation<typeof flags>

export const command = defineCommand({
  usage,
  description: `Prints the logs of a container.

The name of the container may be omitted if the pod has only one. For a workload or a service, one of its pods is
chosen; with --all-pods the logs of all of them are printed.`,
  examples: `  # The log of a pod with one container
  kubectl logs web-0

  # The log of a container of a pod
  kubectl logs web-0 -c sidecar

  # The log of the instance of a container that has crashed
  kubectl logs web-0 -p

  # The last 20 lines, then new ones
  kubectl logs web-0 --tail=20 -f

  # What was written in the last hour, with times
  kubectl logs web-0 --since=1h --timestamps

  # The logs of all containers of all pods with a label
  kubectl logs -l app=web --all-containers --prefix

  # The logs of all pods of a deployment
  kubectl logs deployment/web --all-pods

  # The log of a pod of a job
  kubectl logs job/backup`,
  flags,
  async run(invocation) {
    const { args, flags, factory, streams } = invocation
    checkArguments(invocation)
    const timeoutMs = flags['pod-running-timeout'] ?? 20_000
    if (timeoutMs <= 0) throw new Error(timeoutTooShort)
    const query = await logQueryOf(invocation)
    const found = await findPods(invocation, timeoutMs)
    checkFlags(invocation)
    const sources = logSources(await found(), {
      container: args[1] ?? flags.container ?? '',
      allContainers: flags['all-containers'] ?? false,
      warn: text => streams.stderr.write(`${text}\n`),
      quiet: flags['all-pods'] ?? false,
    })
    const logsMax = flags['max-log-requests'] ?? 5
    if (flags.follow && sources.length > 1 && sources.length > logsMax) {
      throw new Error(
        `you are attempting to follow ${sources.length} log streams, but maximum allowed concurrency is ${logsMax}, ` +
          'use --max-log-requests to increase the limit',
      )
    }
    const signal = streams.interrupted()
    try {
      await printLogs(factory, sources, {
        query,
        signal,
        follow: flags.follow ?? false,
        prefix: flags.prefix || flags['all-pods'] || false,
        ignoreErrors: flags['ignore-errors'] ?? false,
        retryMs: timeoutMs,
      })
    } catch (error) {
      throw signal.aborted ? new ExitError(1) : error
    }
  },
})

function checkArguments({ args, flags }: LogsInvocation): void {
  if (args.length > 2 || (args.length === 0 && !flags.selector)) {
    throw new CommandUsageError(
      `expected '${usage}'.\nPOD or TYPE/NAME is a required argument for the logs command`,
    )
  }
  if (args.length === 1 && flags.selector) {
    throw new CommandUsageError('only a selector (-l) or a POD name is allowed')
  }
}

/** Upstream checks these after the objects were found. */
function checkFlags({ args, flags }: LogsInvocation): void {
  if (flags['since-time'] && flags.since) {
    throw new Error('at most one of `sinceTime` or `sinceSeconds` may be specified')
  }
  const container = args[1] ?? flags.container
  if (flags['all-containers'] && container) {
    throw new Error(`--all-containers=true should not be specified with container name ${container}`)
  }
  if (flags.container !== undefined && args.length === 2) {
    throw new Error('only one of -c or an inline [CONTAINER] arg is allowed')
  }
  if ((flags['limit-bytes'] ?? 0) < 0) throw new Error('--limit-bytes must be greater than 0')
  if (Math.round((flags.since ?? 0) / 1_000) < 0) throw new Error('--since must be greater than 0')
  if ((flags.tail ?? -1) < -1) throw new Error('--tail must be greater than or equal to -1')
}

/** Number of lines of each log with a selector. */
const selectedTailLines = 10

async function logQueryOf({ flags }: LogsInvocation): Promise<LogQuery> {
  const { follow, previous, timestamps, since, tail } = flags
  const { parseSinceTime } = flags['since-time'] ? await import('../logs/since-time.ts') : {}
  const tailLines = tail === undefined && flags.selector ? selectedTailLines : tail
  return {
    follow,
    previous,
    timestamps,
    insecureSkipTLSVerifyBackend: flags['insecure-skip-tls-verify-backend'],
    sinceTime: parseSinceTime?.(flags['since-time']!),
    limitBytes: flags['limit-bytes'] || undefined,
    sinceSeconds: since ? Math.round(since / 1_000) : undefined,
    tailLines: tailLines === -1 ? undefined : tailLines,
  }
}

/** Finds the object at once; its pods when called, since a workload may have none yet. */
async function findPods(
  { args, flags, factory, streams }: LogsInvocation,
  timeoutMs: number,
): Promise<() => Promise<readonly Pod[]>> {
  const { namespace } = await factory.namespace()
  try {
    if (flags.selector) {
      const infos = await requireResources(factory, { args: ['pods'], labelSelector: flags.selector })
      if (infos.length === 0) streams.stderr.write(`No resources found in ${namespace} namespace.\n`)
      return async () => infos.map(({ object }) => podIn(object!))
    }
    const [info, ...more] = await requireResources(factory, {
      args: [args[0]!],
      defaultType: 'pods',
      latest: true,
    })
    if (info === undefined || more.length > 0) throw new Error('expected a resource')
    return async () => {
      const refusal = 'cannot get the logs from'
      const pods = await podsOf(factory, info, { timeoutMs, compare: compareForLogs, refusal })
      if (flags['all-pods'] || pods.length === 1) return pods
      streams.stderr.write(`Found ${pods.length} pods, using pod/${pods[0].metadata.name}\n`)
      return [pods[0]]
    }
  } catch (error) {
    if (!(error instanceof ApiError) || error.reason !== 'NotFound') throw error
    const text = `error from server (NotFound): ${error.message} in namespace ${quote(namespace)}`
    throw new Error(text, { cause: error })
  }
}

import { messageOf } from '#/base/message-of.ts'
import { apiVersionOf } from '#/api/resource.ts'
import {
  autoscalers,
  planAutoscaler,
  validateAutoscaler,
  type AutoscalerLimits,
} from '../autoscale/plan-autoscaler.ts'
import { defineCommand } from '../command.ts'
import { GeneratedObjectSender, sendFlags } from '../create/generated-object-sender.ts'
import type { RestMapping } from '../discovery/rest-mapper.ts'
import type { Factory } from '../factory.ts'
import { int32Flag, stringFlag } from '../flag-types.ts'
import { visitResources } from '../resource/find-resources.ts'
import { filenameFlags, filesOf } from '../write-flags.ts'

const fieldManager = 'kubectl-autoscale'

export const command = defineCommand({
  usage:
    'autoscale (-f FILENAME | TYPE NAME | TYPE/NAME) [--min=MINPODS] --max=MAXPODS [--cpu=CPU] [--memory=MEMORY]',
  description: `Creates a horizontal pod autoscaler.

It sets the number of replicas of a deployment, replica set, stateful set or replication controller, so that the pods
use as much CPU and memory as given.`,
  examples: `  # 2 to 10 pods, with the default metrics
  kubectl autoscale deployment web --min=2 --max=10

  # At most 5 pods, which use 80% of the CPU that they request
  kubectl autoscale deployment web --max=5 --cpu=80%

  # Each pod should use half a CPU and 200 MiB of memory
  kubectl autoscale deployment web --min=3 --max=6 --cpu=500m --memory=200Mi`,
  flags: {
    ...sendFlags(fieldManager),
    ...filenameFlags('Files, folders or URLs with the objects to scale.'),
    'cpu': stringFlag(
      'Targeted CPU usage: percentage of the request, or quantity; a number alone is in milli-CPUs.',
    ),
    'cpu-percent': int32Flag('Targeted CPU usage in percent of the request.', {
      shownDefault: '-1',
      hidden: true,
      deprecated:
        "Use --cpu with percentage or resource quantity format (e.g., '70%' for utilization or '500m' for milliCPU).",
    }),
    'max': int32Flag('Maximum number of pods.', { shownDefault: '-1', required: true }),
    'memory': stringFlag(
      'Targeted memory usage: percentage of the request, or quantity; a number alone is in MiB.',
    ),
    'min': int32Flag('Minimum number of pods. The server has a default.', { shownDefault: '-1' }),
    'name': stringFlag('Name of the autoscaler. The default is that of the scaled object.'),
  },
  async run(invocation) {
    const { args, flags, factory } = invocation
    const sender = await GeneratedObjectSender.open(invocation, fieldManager)
    const { 'cpu-percent': cpuPercent = -1, cpu = '', max = -1, memory = '', min = -1 } = flags
    const limits = { cpuPercent, cpu, max, memory, min }
    validateAutoscaler(limits)
    const count = await visitResources(
      factory,
      { ...filesOf(flags), args, requireObject: true },
      async ({ mapping, name }) => {
        await requireScale(factory, mapping)
        const { namespace, isExplicit } = sender.namespace
        const autoscaler = planAutoscaler({
          ...limits,
          name: flags.name || name,
          ...(isExplicit && { namespace }),
          target: { apiVersion: apiVersionOf(mapping), kind: mapping.kind, name },
        })
        try {
          const created = await sender.send(autoscalers, autoscaler)
          sender.print(created, sender.dryRun === 'client' ? 'created' : 'autoscaled')
        } catch (error) {
          throw failure(limits, error)
        }
      },
    )
    if (count === 0) throw new Error('no objects passed to autoscale')
  },
})

/** Throws Error if the resource has no scale subresource. */
async function requireScale(factory: Factory, mapping: RestMapping): Promise<void> {
  const { discovery } = await factory.restMapper()
  const list = await discovery.resources(apiVersionOf(mapping))
  if (list?.resources.some(({ name }) => name === `${mapping.plural}/scale`)) return
  const resource = `${mapping.group}/${mapping.version}, Resource=${mapping.plural}`
  throw new Error(
    `cannot autoscale a ${mapping.kind}: could not find scale subresource for ${resource} in discovery information`,
  )
}

/** Upstream tries autoscaling/v1 for what it can represent, and reports its failure; else that it cannot. */
function failure({ cpu, memory }: AutoscalerLimits, error: unknown): unknown {
  if (memory === '' && cpu.trim().endsWith('%')) return error
  const reason = cpu === '' ? 'empty input' : 'only a percentage of CPU can be'
  const message =
    'failed to create autoscaling/v2 HPA and the configuration is incompatible with autoscaling/v1'
  return new Error(`${message}: ${reason}\n${messageOf(error)}`, { cause: error })
}

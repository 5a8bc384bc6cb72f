import { parseSelector } from '#/api/selectors/parse-selector.ts'
import { formatDurationMs } from '#/api/text/duration.ts'
import { defineCommand, type Invocation } from '../../command.ts'
import { CommandUsageError } from '../../errors.ts'
import { boolFlag, stringFlag } from '../../flag-types.ts'
import { tableWidths, TabWriter } from '../../printers/tab-writer.ts'
import { podIn } from '../../pods/pods-of.ts'
import { builtInResources } from '../../resource/built-in-resources.ts'
import { itemsOf } from '../../resource/find-resources.ts'
import { allNamespacesFlag } from '../../selection-flags.ts'
import { requireMetrics } from '../../top/require-metrics.ts'
import {
  compareUsage,
  measuredResources,
  sumOf,
  usageOf,
  usageText,
  type ResourceTexts,
  type Usage,
} from '../../top/usage.ts'
import { selectorFlag } from '../../write-flags.ts'

const usage = 'pod [NAME | -l label]'

const flags = {
  'all-namespaces': allNamespacesFlag,
  'containers': boolFlag('Show the containers of the pods.'),
  'field-selector': stringFlag('Selector of fields, with =, == and !=: metadata.name=web-0.'),
  'no-headers': boolFlag('Omit the header.'),
  'selector': selectorFlag,
  'show-swap': boolFlag('Show swap memory, too.'),
  'sort-by': stringFlag("Sort by 'cpu' or 'memory'."),
  'sum': boolFlag('Show the sum of the usage.'),
  'use-protocol-buffers': boolFlag('Has no effect.', { shownDefault: 'true' }),
}

type TopPodInvocation = Invocation<typeof flags>

interface PodMetrics {
  readonly metadata: { readonly name: string; readonly namespace: string }
  readonly containers?: readonly { readonly name: string; readonly usage?: ResourceTexts }[]
}

/** New pods have no metrics for this time. */
const metricsDelayMs = 2 * 60_000

export const command = defineCommand({
  usage,
  description: `Shows the CPU and memory usage of pods.

The metrics of a pod may be unavailable in its first minutes.`,
  examples: `  # The pods of the namespace
  kubectl top pod

  # The containers of a pod
  kubectl top pod web-0 --containers

  # The pods with a label
  kubectl top pod -l app=web`,
  flags,
  async run(invocation) {
    const { args, flags: given, factory } = invocation
    if (args.length > 1) throw new CommandUsageError(usage)
    const { 'sort-by': sortBy = '', selector } = given
    if (!['', 'cpu', 'memory'].includes(sortBy)) throw new Error('--sort-by accepts only cpu or memory')
    if (args[0] && (selector || given['field-selector'])) {
      throw new Error('only one of NAME or selector can be provided')
    }
    if (selector) parseSelector(selector)
    await requireMetrics(factory)
    const metrics = await readMetrics(invocation)
    if (metrics.length === 0) await explainMissing(invocation)
    else print(invocation, metrics)
  },
})

async function readMetrics({
  args,
  flags: given,
  factory,
}: TopPodInvocation): Promise<readonly PodMetrics[]> {
  const [name] = args
  const namespace = given['all-namespaces'] ? '' : (await factory.namespace()).namespace
  const resources = await factory.resources()
  const location = { mapping: builtInResources.podMetrics, ...(namespace && { namespace }) }
  if (name) return [(await resources.get({ ...location, name })) as unknown as PodMetrics]
  const list = await resources.get(location, {
    labelSelector: given.selector,
    fieldSelector: given['field-selector'],
  })
  return itemsOf(list) as unknown as readonly PodMetrics[]
}

/** Throws Error if there are pods. */
async function explainMissing({ flags: given, factory, streams }: TopPodInvocation): Promise<void> {
  const { namespace } = await factory.namespace()
  const resources = await factory.resources()
  const selectors = { labelSelector: given.selector, fieldSelector: given['field-selector'] }
  const pods = itemsOf(await resources.get({ mapping: builtInResources.pods, namespace }, selectors)).map(
    podIn,
  )
  const nowMs = factory.machine.platform.clock.now()
  for (const { metadata } of pods) {
    const ageMs = nowMs - Date.parse(metadata.creationTimestamp ?? '')
    if (ageMs <= metricsDelayMs) continue
    const subject = `pod ${metadata.namespace}/${metadata.name}, age: ${formatDurationMs(ageMs)}`
    throw new Error(`Metrics not available for ${subject}`)
  }
  if (pods.length > 0) throw new Error('metrics not available yet')
  streams.stderr.write(`No resources found${given['all-namespaces'] ? '' : ` in ${namespace} namespace.`}\n`)
}

const headers = { cpu: 'CPU(cores)\t', memory: 'MEMORY(bytes)\t', swap: 'SWAP(bytes)\t' }

function print({ flags: given, streams }: TopPodInvocation, metrics: readonly PodMetrics[]): void {
  const { 'sort-by': sortBy = '', 'no-headers': noHeaders, 'containers': showContainers } = given
  const withNamespace = given['all-namespaces'] ?? false
  const resources = measuredResources(given['show-swap'])
  const table = new TabWriter({ ...tableWidths, write: text => streams.write(text) })
  const leading = [...(withNamespace ? ['NAMESPACE\t'] : []), ...(showContainers ? ['POD\t'] : [])]
  if (!noHeaders) table.write(`${leading.join('')}NAME\t${resources.map(each => headers[each]).join('')}\n`)
  const cellsOf = (used: Usage): string => resources.map(each => `${usageText(each, used[each])}\t`).join('')
  const compare = compareUsage<PodMetrics>(sortBy, {
    usage: podUsage,
    name: ({ metadata }) => (withNamespace ? `${metadata.namespace}/${metadata.name}` : metadata.name),
  })
  const sorted = metrics.toSorted(compare)
  for (const pod of sorted) {
    const { name, namespace } = pod.metadata
    const place = withNamespace ? `${namespace}\t` : ''
    if (!showContainers) {
      table.write(`${place}${name}\t${cellsOf(podUsage(pod))}\n`)
      continue
    }
    const compareContainers = compareUsage<NonNullable<PodMetrics['containers']>[number]>(sortBy, {
      usage: each => usageOf(each.usage),
      name: each => each.name,
    })
    for (const container of (pod.containers ?? []).toSorted(compareContainers)) {
      table.write(`${place}${name}\t${container.name}\t${cellsOf(usageOf(container.usage))}\n`)
    }
  }
  if (given.sum) {
    // Without a header, upstream does not count the leading columns.
    const columns = resources.length + 1 + (noHeaders ? 0 : leading.length)
    table.write(`${'\t'.repeat(columns - 2)}________\t________\t\n`)
    table.write(`${'\t'.repeat(columns - 3)}\t${cellsOf(sumOf(sorted.map(podUsage)))}\n`)
  }
  table.flush()
}

function podUsage({ containers = [] }: PodMetrics): Usage {
  return sumOf(containers.map(each => usageOf(each.usage)))
}

import type { Node } from '#/api/generated/core/v1.ts'
import type { JsonObject } from '#/api/text/json-object.ts'
import { defineCommand, type Invocation } from '../../command.ts'
import { CommandUsageError } from '../../errors.ts'
import { boolFlag, stringFlag } from '../../flag-types.ts'
import { tableWidths, TabWriter } from '../../printers/tab-writer.ts'
import { builtInResources } from '../../resource/built-in-resources.ts'
import { itemsOf } from '../../resource/find-resources.ts'
import type { ResourceLocation } from '../../resource/resource-client.ts'
import { requireMetrics } from '../../top/require-metrics.ts'
import {
  compareUsage,
  measuredResources,
  percentText,
  usageOf,
  usageText,
  type ResourceTexts,
} from '../../top/usage.ts'
import { selectorFlag } from '../../write-flags.ts'

const usage = 'node [NAME | -l label]'

const flags = {
  'no-headers': boolFlag('Omit the header.'),
  'selector': selectorFlag,
  'show-capacity': boolFlag('Percentages of the capacity, not of what pods can allocate.'),
  'show-swap': boolFlag('Show swap memory, too.'),
  'sort-by': stringFlag("Sort by 'cpu' or 'memory'."),
  'use-protocol-buffers': boolFlag('Has no effect.', { shownDefault: 'true' }),
}

type TopNodeInvocation = Invocation<typeof flags>

interface NodeMetrics {
  readonly metadata: { readonly name: string }
  readonly usage?: ResourceTexts
}

export const command = defineCommand({
  usage,
  description: 'Shows the CPU and memory usage of nodes.',
  examples: `  # All nodes
  kubectl top node

  # One node
  kubectl top node node-1`,
  flags,
  async run(invocation) {
    const { args, flags: given, factory } = invocation
    const [name, ...others] = args
    if (others.length > 0) throw new CommandUsageError(usage)
    const { 'sort-by': sortBy = '', selector } = given
    if (!['', 'cpu', 'memory'].includes(sortBy)) throw new Error('--sort-by accepts only cpu or memory')
    if (name && selector) throw new Error('only one of NAME or --selector can be provided')
    await requireMetrics(factory)
    const find = async (mapping: ResourceLocation['mapping']): Promise<readonly JsonObject[]> => {
      const resources = await factory.resources()
      if (name) return [await resources.get({ mapping, name })]
      return itemsOf(await resources.get({ mapping }, { labelSelector: selector }))
    }
    const metrics = (await find(builtInResources.nodeMetrics)) as unknown as readonly NodeMetrics[]
    if (metrics.length === 0) throw new Error('metrics not available yet')
    print(invocation, { metrics, nodes: (await find(builtInResources.nodes)) as unknown as readonly Node[] })
  },
})

interface PrintOptions {
  readonly metrics: readonly NodeMetrics[]
  readonly nodes: readonly Node[]
}

const headers = {
  cpu: 'CPU(cores)\tCPU(%)\t',
  memory: 'MEMORY(bytes)\tMEMORY(%)\t',
  swap: 'SWAP(bytes)\tSWAP(%)\t',
}

const unknown = '<unknown>\t<unknown>\t'

function print({ flags: given, streams }: TopNodeInvocation, { metrics, nodes }: PrintOptions): void {
  const resources = measuredResources(given['show-swap'])
  const table = new TabWriter({ ...tableWidths, write: text => streams.write(text) })
  if (!given['no-headers']) table.write(`NAME\t${resources.map(each => headers[each]).join('')}\n`)
  const byName = new Map(nodes.map(node => [node.metadata.name ?? '', node]))
  const compare = compareUsage<NodeMetrics>(given['sort-by'] ?? '', {
    usage: each => usageOf(each.usage),
    name: ({ metadata }) => metadata.name,
  })
  for (const { metadata, usage: texts } of metrics.toSorted(compare)) {
    const node = byName.get(metadata.name)
    byName.delete(metadata.name)
    const used = usageOf(texts)
    const available = availableIn(node, given['show-capacity'] ?? false)
    const cells = resources.map(each => {
      if (each === 'swap' && available['swap'] === undefined) return unknown
      const text = `${usageText(each, used[each])}\t`
      return available[each] === undefined
        ? text
        : `${text}${percentText(used[each], usageOf(available)[each])}\t`
    })
    table.write(`${metadata.name}\t${cells.join('')}\n`)
  }
  for (const name of byName.keys()) table.write(`${name}\t${unknown.repeat(resources.length)}\n`)
  table.flush()
}

function availableIn(node: Node | undefined, isCapacity: boolean): ResourceTexts {
  const { capacity, allocatable, nodeInfo } = node?.status ?? {}
  const swap = nodeInfo?.swap?.capacity
  const texts = isCapacity ? capacity : allocatable
  return { ...texts, ...(swap !== undefined && { swap: String(swap) }) }
}

import type { Node } from '#/api/generated/core/v1.ts'
import { CommandUsageError } from '../errors.ts'
import type { Factory } from '../factory.ts'
import { findResources } from '../resource/find-resources.ts'
import type { Info } from '../resource/info.ts'

export interface NodeInfo extends Info {
  readonly object: NonNullable<Info['object']>
}

export interface NodeQuery {
  readonly args: readonly string[]
  readonly selector: string | undefined
  readonly chunkSize?: number | undefined
  /** `cordon NODE`. */
  readonly usage: string
}

/** The nodes that the arguments name or the selector matches. Throws if one does not exist. */
export async function findNodes(factory: Factory, query: NodeQuery): Promise<readonly NodeInfo[]> {
  const { args, selector, usage, chunkSize } = query
  if (args.length === 0 && selector === undefined) throw new CommandUsageError(`USAGE: ${usage} [flags]`)
  if (args.length > 0 && selector) {
    throw new CommandUsageError('cannot specify both a node name and a --selector option')
  }
  const { infos, errors } = await findResources(factory, {
    args: selector ? ['nodes'] : args,
    ...(!selector && { defaultType: 'nodes' }),
    labelSelector: selector,
    chunkSize,
    requireObject: true,
  })
  if (errors.length > 0) throw errors[0]
  return infos.map(info => {
    const { group, version, plural } = info.mapping
    if (group === '' && plural === 'nodes') return { ...info, object: info.object ?? {} }
    throw new Error(`expected resource of type node, got {"${group}" "${version}" "${plural}"}`)
  })
}

export function nodeIn({ object }: NodeInfo): Node {
  return object as unknown as Node
}

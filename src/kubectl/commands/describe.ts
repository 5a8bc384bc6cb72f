import { isApiError } from '#/api/errors.ts'
import { objectOf } from '#/api/metadata.ts'
import { messageOf } from '#/base/message-of.ts'
import { defineCommand, type Invocation } from '../command.ts'
import { describeObject } from '../describe/describe-object.ts'
import { boolFlag } from '../flag-types.ts'
import { findResources, requireResources, throwAny, type ResourceQuery } from '../resource/find-resources.ts'
import type { Info } from '../resource/info.ts'
import { allNamespacesFlag, chunkSizeFlag } from '../selection-flags.ts'
import { filenameFlags, filesOf, hasFiles, selectorFlag } from '../write-flags.ts'

const flags = {
  ...filenameFlags('Files, folders or URLs that name the objects.'),
  'all-namespaces': allNamespacesFlag,
  'chunk-size': chunkSizeFlag,
  'selector': selectorFlag,
  'show-events': boolFlag('Show the events about the object; by default only if there is a single one.', {
    shownDefault: 'true',
  }),
}

type DescribeInvocation = Invocation<typeof flags>

export const command = defineCommand({
  usage: 'describe (-f FILENAME | TYPE [NAME_PREFIX | -l label] | TYPE/NAME)',
  description: `Shows details of objects, with related objects and events.

If no object has the given name, all objects whose names begin with it are shown: "kubectl describe pods
web" shows the pod "web", or else "web-0" and "web-1".

Use "kubectl api-resources" for a complete list of supported resources.`,
  examples: `  # A node
  kubectl describe nodes node-1

  # A pod
  kubectl describe pods/web-0

  # The objects of a file
  kubectl describe -f pod.yaml

  # All pods
  kubectl describe pods

  # The pods with a label
  kubectl describe pods -l app=web

  # The pods whose names begin with "web"
  kubectl describe pods web`,
  flags,
  async run(invocation) {
    const { args, factory, streams } = invocation
    if (args.length === 0 && !hasFiles(invocation.flags)) {
      const hint = 'Use "kubectl api-resources" for a complete list of supported resources.\n'
      throw new Error(`You must specify the type of resource to describe. ${hint}`)
    }
    const { infos, errors: missing } = await findResources(factory, queryOf(invocation))
    const [type = '', prefix] = args
    const [notFound] = missing
    if (
      prefix !== undefined &&
      args.length === 2 &&
      isApiError(notFound, 'NotFound') &&
      !type.includes('/')
    ) {
      return describeMatching(invocation, { type, prefix, notFound })
    }
    const showEvents = invocation.flags['show-events'] ?? (missing.length === 0 && infos.length === 1)
    const errors = new Map<string, unknown>(missing.map(error => [messageOf(error), error]))
    let isFirst = true
    for (const info of infos) {
      try {
        const text = await describe(invocation, info, showEvents)
        streams.write(isFirst ? text : `\n\n${text}`)
        isFirst = false
      } catch (error) {
        errors.set(messageOf(error), error)
      }
    }
    if (infos.length === 0 && errors.size === 0) await printNothingFound(invocation)
    throwAny([...errors.values()])
  },
})

function queryOf({ args, flags: given }: DescribeInvocation): ResourceQuery {
  const { selector } = given
  const hasNames = args.length > 1 || args.some(each => each.includes('/'))
  return {
    ...filesOf(given),
    args,
    labelSelector: selector,
    allNamespaces: given['all-namespaces'],
    all: !selector && args.length > 0 && !hasNames,
    chunkSize: given['chunk-size'],
    latest: true,
  }
}

async function describe(
  { flags: given, factory }: DescribeInvocation,
  info: Info,
  showEvents: boolean,
): Promise<string> {
  return describeObject(objectOf(info.object ?? {}), {
    client: await factory.client(),
    showEvents,
    chunkSize: given['chunk-size'] ?? 500,
    nowMs: factory.machine.platform.clock.now(),
    timeZone: new Intl.DateTimeFormat().resolvedOptions().timeZone,
  })
}

interface MatchingOptions {
  readonly type: string
  readonly prefix: string
  /** Thrown if no name begins with the prefix. */
  readonly notFound: unknown
}

async function describeMatching(
  invocation: DescribeInvocation,
  { type, prefix, notFound }: MatchingOptions,
): Promise<void> {
  const { flags: given, factory, streams } = invocation
  const infos = await requireResources(factory, { args: [type], all: true, chunkSize: given['chunk-size'] })
  const matching = infos.filter(({ name }) => name.startsWith(prefix))
  if (matching.length === 0) throw notFound
  const showEvents = given['show-events'] ?? false
  for (const info of matching) streams.write(`${await describe(invocation, info, showEvents)}\n`)
}

async function printNothingFound({ flags: given, factory, streams }: DescribeInvocation): Promise<void> {
  const place = given['all-namespaces'] ? '' : ` in ${(await factory.namespace()).namespace} namespace.`
  streams.stderr.write(`No resources found${place}\n`)
}

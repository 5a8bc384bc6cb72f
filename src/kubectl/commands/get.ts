import { quote } from '#/api/text/quote.ts'
import { defineCommand } from '../command.ts'
import { CommandUsageError } from '../errors.ts'
import { getFlags, type GetInvocation } from '../get/get-flags.ts'
import { getTables } from '../get/get-tables.ts'
import { splitOutput } from '../printers/object-printer.ts'

export const command = defineCommand({
  usage:
    'get [(-o|--output=)FORMAT] (TYPE[.VERSION][.GROUP] [NAME | -l label] | TYPE[.VERSION][.GROUP]/NAME ...) [flags]',
  description: `Shows one or many resources.

Prints a table of the most important information about the objects. Uninitialized objects are included. With --output
the whole objects are printed.

Use "kubectl api-resources" for a complete list of supported resources.`,
  examples: `  # All pods of the namespace
  kubectl get pods

  # The pods of all namespaces, with their nodes
  kubectl get pods -A -o wide

  # A deployment as YAML
  kubectl get deployment web -o yaml

  # Only the phase of a pod
  kubectl get pod web-0 -o jsonpath={.status.phase}

  # Deployments and services with a label, and their changes
  kubectl get deployments,services -l app=web
  kubectl get pods -l app=web --watch`,
  flags: getFlags,
  async run(invocation) {
    const { args, flags } = invocation
    if (flags.raw !== undefined) return printRaw(invocation)
    const hasFiles = flags.filename !== undefined || flags.kustomize !== undefined
    if (flags.filename && flags.kustomize) throw new Error('only one of -f or -k can be specified')
    if (args.length === 0 && !hasFiles) throw missingType(invocation)
    if (flags['output-watch-events'] && !flags.watch && !flags['watch-only']) {
      throw new Error('--output-watch-events option can only be used with --watch or --watch-only')
    }
    const { format } = splitOutput(flags)
    if (format === '' || format === 'wide') return getTables(invocation)
    const { getObjects } = await import('../get/get-objects.ts')
    return getObjects(invocation)
  },
})

function missingType({ streams }: GetInvocation): Error {
  const list = 'Use "kubectl api-resources" for a complete list of supported resources.'
  streams.stderr.write(`You must specify the type of resource to get. ${list}\n\n`)
  const description = 'for a detailed description of that resource (e.g. kubectl explain pods).'
  return new CommandUsageError(
    `Required resource not specified.\nUse "kubectl explain <resource>" ${description}`,
  )
}

async function printRaw({ args, flags, factory, streams }: GetInvocation): Promise<void> {
  if (args.length > 0) throw new Error('arguments may not be passed when --raw is specified')
  if (flags.watch || flags['watch-only'] || flags.selector) {
    throw new Error(
      '--raw may not be specified with other flags that filter the server request or alter the output',
    )
  }
  if (flags.output) throw new Error('--raw and --output are mutually exclusive')
  const isPath = /^(?:\/|https?:\/\/)/.test(flags.raw ?? '')
  if (!isPath)
    throw new Error(
      `--raw must be a valid URL path: parse ${quote(flags.raw ?? '')}: invalid URI for request`,
    )
  const client = await factory.client()
  const [path = '', query = ''] = (flags.raw ?? '').split('?')
  const response = await client.raw({ method: 'GET', path, query: new URLSearchParams(query) })
  for await (const piece of response.bytes()) {
    streams.stdout.write(piece)
    await streams.stdout.drained()
  }
}

import { quote } from '#/api/text/quote.ts'
import { defineCommand } from '../command.ts'
import { boolFlag, intFlag } from '../flag-types.ts'
import { parseFileSpec, type FileSpec } from '../cp/file-spec.ts'
import { PodShell } from '../cp/pod-shell.ts'
import type { Factory } from '../factory.ts'
import { containerFlag } from '../pods/pod-flags.ts'

export const command = defineCommand({
  usage: 'cp <file-spec-src> <file-spec-dest>',
  description: `Copies files and folders to and from containers.

One of the two is a file of this machine, the other one [[namespace/]pod:]path. The image of the container must have
tar. Symbolic links of a container are not copied.`,
  examples: `  # Copy a file to a pod
  kubectl cp config.yaml web-0:/tmp/config.yaml

  # Copy a folder to a container of a pod in another namespace
  kubectl cp ./site shop/web-0:/srv/site -c nginx

  # Copy a file or folder from a pod
  kubectl cp web-0:/var/log/app.log app.log

  # Resume the copy of a large file when the connection breaks
  kubectl cp web-0:/data/dump.sql dump.sql --retries=10

  # Copy symbolic links, too, or with wildcards
  kubectl exec web-0 -- tar cf - /srv/site | tar xf -`,
  flags: {
    'container': containerFlag,
    'no-preserve': boolFlag('Do not give the copied files the owner and the modes of the originals.'),
    'retries': intFlag('How often a copy from a container is resumed; a negative number for no limit.'),
  },
  async run({ args, flags, factory }) {
    const [source, destination] = parseArguments(args)
    const shellOf = async (spec: FileSpec): Promise<PodShell> =>
      new PodShell(factory, await shellOptions(factory, spec, flags.container))
    if (source.pod !== undefined) {
      const { copyFromPod } = await import('../cp/copy-from-pod.ts')
      const { namespace = '', pod } = source
      const [inNamespace, inPod, path] = [namespace, pod, source.path].map(quote)
      const { platform, workingFolder, streams } = factory.machine
      return copyFromPod({
        files: platform.files,
        workingFolder,
        streams,
        shell: await shellOf(source),
        source: source.path,
        destination: destination.path,
        retriesMax: flags.retries ?? 0,
        alternative: `kubectl exec -n ${inNamespace} ${inPod} -- tar cf - ${path} | tar xf -`,
      })
    }
    const { copyToPod } = await import('../cp/copy-to-pod.ts')
    await copyToPod(factory, {
      shell: await shellOf(destination),
      source: source.path,
      destination: destination.path,
      noPreserve: flags['no-preserve'] ?? false,
    })
  },
})

/** Throws Error. */
function parseArguments(args: readonly string[]): readonly [FileSpec, FileSpec] {
  const [first, second, ...more] = args
  if (first === undefined || second === undefined || more.length > 0) {
    throw new Error('source and destination are required')
  }
  const [source, destination] = [parseFileSpec(first), parseFileSpec(second)]
  if (source.pod !== undefined && destination.pod !== undefined) {
    throw new Error('one of src or dest must be a local file specification')
  }
  if (source.path === '' || destination.path === '') throw new Error('filepath can not be empty')
  if (source.pod === undefined && destination.pod === undefined) {
    throw new Error('one of src or dest must be a remote file specification')
  }
  return [source, destination]
}

async function shellOptions(
  factory: Factory,
  { namespace, pod = '' }: FileSpec,
  container: string | undefined,
) {
  return { namespace: namespace || (await factory.namespace()).namespace, pod, container }
}

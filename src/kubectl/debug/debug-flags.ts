import type { Invocation } from '../command.ts'
import { boolFlag, keyValueFlag, stringFlag, stringSliceFlag } from '../flag-types.ts'
import { quote } from '#/api/text/quote.ts'
import { isImageReference } from '../run/validate-run.ts'
import { profileNames, type ProfileName } from './debug-profile.ts'

const onlyCopies = ' Only with --copy-to.'

export const debugFlags = {
  'arguments-only': boolFlag(
    'Use what follows -- as arguments of the command of the image, not as the command.',
  ),
  'attach': boolFlag('Wait until the container runs, and attach to it. True by default with --stdin.'),
  'container': stringFlag('Name of the container to debug with.', { shorthand: 'c' }),
  'copy-to': stringFlag('Create a copy of the pod with this name.'),
  'custom': stringFlag(
    'File in JSON or YAML with a partial container, which is merged into that of the profile.',
  ),
  'env': keyValueFlag('Environment variables of the container.'),
  'filename': stringSliceFlag('File or URL with the object to debug.', { shorthand: 'f' }),
  'image': stringFlag('Image of the container to debug with.'),
  'image-pull-policy': stringFlag('Image pull policy of the container: Always, IfNotPresent or Never.'),
  'keep-annotations': boolFlag(`Keep the annotations of the pod.${onlyCopies}`),
  'keep-init-containers': boolFlag(`Run the init containers of the pod.${onlyCopies}`, {
    shownDefault: 'true',
  }),
  'keep-labels': boolFlag(
    `Keep the labels of the pod, so that services and controllers select the copy.${onlyCopies}`,
  ),
  'keep-liveness': boolFlag(`Keep the liveness probes.${onlyCopies}`),
  'keep-readiness': boolFlag(`Keep the readiness probes.${onlyCopies}`),
  'keep-startup': boolFlag(`Keep the startup probes.${onlyCopies}`),
  'profile': stringFlag(`What the container may do: ${profileNames.slice(1).join(', ')}.`, {
    shownDefault: `'general'`,
  }),
  'quiet': boolFlag('Print only the output of the container.', { shorthand: 'q' }),
  'replace': boolFlag(`Delete the original pod.${onlyCopies}`),
  'same-node': boolFlag(`Run the copy on the node of the pod.${onlyCopies}`),
  'set-image': keyValueFlag(
    `Other images of the containers: CONTAINER=IMAGE, or *=IMAGE for all.${onlyCopies}`,
  ),
  'share-processes': boolFlag(`Let the containers see each other's processes.${onlyCopies}`, {
    shownDefault: 'true',
  }),
  'stdin': boolFlag('Keep the stdin of the container open.', { shorthand: 'i' }),
  'target': stringFlag('Container of the pod whose processes an ephemeral container sees.'),
  'tty': boolFlag('Run the container with a terminal. Requires --stdin.', { shorthand: 't' }),
}

export type DebugInvocation = Invocation<typeof debugFlags>

export interface DebugArguments {
  readonly targets: readonly string[]
  /** What follows `--`. */
  readonly words: readonly string[]
}

export function splitDebugArguments({ args, dashIndex = args.length }: DebugInvocation): DebugArguments {
  return { targets: args.slice(0, dashIndex), words: args.slice(dashIndex) }
}

/** Throws Error. */
export function parseProfile({ flags: { profile = 'general' } }: DebugInvocation): ProfileName {
  const known = profileNames.find(each => each === profile)
  if (known === undefined) throw new Error(`unknown profile: ${profile}`)
  return known
}

/** Throws Error for flags that contradict each other. The messages end as upstream's. */
export function checkDebugFlags({ flags }: DebugInvocation, { targets, words }: DebugArguments): void {
  const { image, container, 'set-image': images = new Map<string, string>() } = flags
  if (flags.attach && !image && !container) {
    throw new Error(
      'you must specify --container or create a new container using --image in order to attach.',
    )
  }
  if (flags['copy-to']) {
    if (!image && images.size === 0 && words.length === 0) {
      throw new Error('you must specify --image, --set-image or command arguments.')
    }
    if (words.length > 0 && !container && !image) {
      throw new Error('you must specify an existing container or a new image when specifying args.')
    }
  } else checkWithoutCopy({ flags, images })
  if (image && !isImageReference(image))
    throw new Error(`invalid image name ${quote(image)}: ${badReference}`)
  if (targets.length === 0 && !flags.filename?.length)
    throw new Error('NAME or filename is required for debug')
  const policy = flags['image-pull-policy'] ?? ''
  if (!['', 'Always', 'IfNotPresent', 'Never'].includes(policy)) {
    throw new Error(`invalid image pull policy: ${policy}`)
  }
  for (const [name, each] of images) {
    if (!isImageReference(each)) {
      throw new Error(`invalid image name ${quote(each)} for container ${quote(name)}: ${badReference}`)
    }
  }
  if (flags.target && flags['copy-to']) {
    throw new Error('--target is incompatible with --copy-to. Use --share-processes instead.')
  }
}

const badReference = 'invalid reference format'

function checkWithoutCopy({
  flags,
  images,
}: Pick<DebugInvocation, 'flags'> & { readonly images: ReadonlyMap<string, string> }): void {
  if (flags.replace) throw new Error('--replace may only be used with --copy-to.')
  if (flags['same-node']) throw new Error('--same-node may only be used with --copy-to.')
  if (images.size > 0) throw new Error('--set-image may only be used with --copy-to.')
  if (!flags.image) throw new Error('you must specify --image when not using --copy-to.')
}

import { trimmed } from './phrases.ts'

/** What is wrong with an image, by the reason and the message of the kubelet: `cannot be pulled: ...`. */
export interface PullProblem {
  readonly text: string
  /** True if credentials may help. */
  readonly isDenied: boolean
}

export function explainPull(reason: string, message: string): PullProblem {
  const isDenied = /\b(?:denied|unauthorized|forbidden|authorization failed|401|403)\b/i.test(message)
  if (reason === 'InvalidImageName' || message.includes('invalid reference format')) {
    return { text: `is not a valid name of an image${detail(message)}`, isDenied: false }
  }
  if (reason === 'ErrImageNeverPull') {
    return { text: 'is not on the node, and imagePullPolicy is Never', isDenied: false }
  }
  if (isDenied) return { text: `cannot be pulled: the registry denies access${detail(message)}`, isDenied }
  if (/\b(?:manifest unknown|not found|404)\b/i.test(message)) {
    return { text: `cannot be pulled: the registry does not have it${detail(message)}`, isDenied }
  }
  if (/dial tcp|lookup |timeout|connection re(?:fused|set)|no route to host|EOF$/.test(message)) {
    return { text: `cannot be pulled: the registry cannot be reached${detail(message)}`, isDenied }
  }
  const rest = innermost(message)
  return { text: `cannot be pulled${rest === '' ? '' : `: ${rest}`}`, isDenied }
}

function detail(message: string): string {
  const rest = innermost(message)
  return rest === '' ? '' : ` (${rest})`
}

/** What the layers of clients put before the message of the registry. */
const wrappers: readonly RegExp[] = [
  /^Back-off pulling image "[^"]*"(?:: ErrImagePull)?(?:: |$)/,
  /^Failed to pull image "[^"]*": /,
  /^rpc error: code = \w+ desc = /,
  /^failed to pull and unpack image "[^"]*": /,
  /^failed to resolve (?:reference|image) "[^"]*": /,
  /^failed to do request: /,
  /^failed to parse image reference "[^"]*": /,
  /^unexpected status from \w+ request to [^ ]+: /,
  /^failed to (?:authorize|fetch (?:anonymous|oauth) token): /,
]

const wrappersMax = 20
const messageLengthMax = 4_000

function innermost(message: string): string {
  let rest = message.slice(0, messageLengthMax).trim()
  for (let count = 0; count < wrappersMax; count++) {
    const wrapper = wrappers.find(each => each.test(rest))
    if (wrapper === undefined) break
    rest = rest.replace(wrapper, '')
  }
  return trimmed(rest)
}

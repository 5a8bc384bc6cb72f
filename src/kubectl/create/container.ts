import type { JsonObject } from '#/api/text/json-object.ts'

export interface ContainerContent {
  readonly name: string
  readonly image: string
  readonly command?: readonly string[]
  readonly args?: readonly string[]
  readonly port?: number
  readonly hostPort?: number
  readonly env?: readonly { readonly name: string; readonly value: string }[]
  readonly resources?: JsonObject
  readonly imagePullPolicy?: string
  readonly privileged?: boolean
  readonly stdin?: boolean
  readonly stdinOnce?: boolean
  readonly tty?: boolean
}

/** A container in the order of its type. */
export function containerOf(content: ContainerContent): JsonObject {
  const { name, image, command = [], args = [], port, hostPort, env = [] } = content
  return {
    name,
    image,
    ...(command.length > 0 && { command: [...command] }),
    ...(args.length > 0 && { args: [...args] }),
    ...(port !== undefined && { ports: [{ ...(hostPort && { hostPort }), containerPort: port }] }),
    ...(env.length > 0 && { env: env.map(({ name, value }) => ({ name, ...(value && { value }) })) }),
    resources: content.resources ?? {},
    ...(content.imagePullPolicy && { imagePullPolicy: content.imagePullPolicy }),
    ...(content.privileged && { securityContext: { privileged: true } }),
    ...(content.stdin && { stdin: true }),
    ...(content.stdinOnce && { stdinOnce: true }),
    ...(content.tty && { tty: true }),
  }
}

/** The template of a Job, with one container. */
export function jobTemplate(container: ContainerContent, restartPolicy: string): JsonObject {
  return { metadata: {}, spec: { containers: [containerOf(container)], restartPolicy } }
}

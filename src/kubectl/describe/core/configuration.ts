import type { ConfigMap, Secret, ServiceAccount } from '#/api/generated/core/v1.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import type { DescribeContext, Describer } from '../describer.ts'
import { describeEvents, searchEvents, targetOf, writeEvents } from '../sections/events.ts'
import { describeAnnotations, describeLabels, sortedKeys } from '../sections/metadata.ts'

export const describeSecret: Describer<Secret> = (secret, context) => {
  const { writer } = context
  const { type = '', data = {} } = secret
  describeHead(secret, context)
  writer.write(0, '\n')
  writer.fields(0, [['Type', type]])
  writer.write(0, '\nData\n====\n')
  for (const key of sortedKeys(data)) {
    const value = Buffer.from(data[key] ?? '', 'base64')
    // A token is shown, since it cannot be read otherwise.
    const isToken = key === 'token' && type === 'kubernetes.io/service-account-token'
    writer.fields(0, [[key, isToken ? value.toString() : `${value.length} bytes`]])
  }
}

export const describeConfigMap: Describer<ConfigMap> = async (configMap, context) => {
  const { writer } = context
  const { data = {}, binaryData = {} } = configMap
  describeHead(configMap, context)
  writer.write(0, '\nData\n====\n')
  for (const key of sortedKeys(data)) writer.write(0, `${key}:\n----\n${data[key]}\n\n`)
  writer.write(0, '\nBinaryData\n====\n')
  for (const key of sortedKeys(binaryData)) {
    writer.write(0, `${key}: ${Buffer.from(binaryData[key] ?? '', 'base64').length} bytes\n`)
  }
  writer.write(0, '\n')
  // Unlike for other kinds, a failure to list the events is an error.
  if (context.showEvents) writeEvents(await searchEvents(targetOf(configMap), context), context)
}

export const describeServiceAccount: Describer<ServiceAccount> = async (account, context) => {
  const names = (account.imagePullSecrets ?? []).map(({ name = '' }) => name)
  describeHead(account, context)
  context.writer.list(0, 'Image pull secrets', names)
  await describeEvents(account, context)
}

function describeHead(object: KubernetesObject, { writer }: DescribeContext): void {
  writer.fields(0, [
    ['Name', object.metadata.name ?? ''],
    ['Namespace', object.metadata.namespace ?? ''],
  ])
  describeLabels(writer, object)
  describeAnnotations(writer, object)
}

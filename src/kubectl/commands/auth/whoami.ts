import { isApiError } from '#/api/errors.ts'
import type { UserInfo } from '#/api/generated/authentication/v1.ts'
import { isObject, type JsonObject } from '#/api/text/json-object.ts'
import { defineCommand } from '../../command.ts'
import type { Factory } from '../../factory.ts'
import { objectPrinterOf, printFlags } from '../../printers/object-printer.ts'
import { tableWidths, TabWriter } from '../../printers/tab-writer.ts'
import { builtInResources } from '../../resource/built-in-resources.ts'

export const command = defineCommand({
  usage: 'whoami',
  description: `Shows the attributes of the current user as the server sees them: name, groups and extra
fields. This helps with dynamic authentication, such as token webhooks, authenticating proxies and OpenID
Connect.`,
  examples: `  # The attributes of the current user
  kubectl auth whoami

  # The same as JSON
  kubectl auth whoami -o json`,
  flags: printFlags,
  async run({ flags, factory, streams }) {
    const printer = await objectPrinterOf({ flags, machine: factory.machine, keepsFieldOrder: true })
    const review = await selfSubjectReview(factory)
    streams.write(printer === undefined ? tableOf(userInfoIn(review)) : printer(review))
  },
})

/** Servers before 1.28 have the API in beta and alpha versions. */
async function selfSubjectReview(factory: Factory): Promise<JsonObject> {
  const resources = await factory.resources()
  for (const version of ['v1', 'v1beta1', 'v1alpha1']) {
    const mapping = { ...builtInResources.selfSubjectReviews, version }
    const review = {
      kind: 'SelfSubjectReview',
      apiVersion: `authentication.k8s.io/${version}`,
      metadata: {},
      status: { userInfo: {} },
    }
    try {
      return await resources.create({ mapping }, review)
    } catch (error) {
      if (isApiError(error, 'Forbidden')) {
        throw new Error(`${notEnabled} or you do not have permission to call it`, { cause: error })
      }
      if (!isApiError(error, 'NotFound')) throw error
    }
  }
  throw new Error(notEnabled)
}

const notEnabled = 'the selfsubjectreviews API is not enabled in the cluster'

function userInfoIn({ status }: JsonObject): UserInfo {
  const userInfo = isObject(status) ? status['userInfo'] : undefined
  return isObject(userInfo) ? userInfo : {}
}

function tableOf({ username = '', uid = '', groups = [], extra = {} }: UserInfo): string {
  let text = ''
  const table = new TabWriter({ ...tableWidths, write: written => (text += written) })
  const rows: (readonly [string, string])[] = [['ATTRIBUTE', 'VALUE']]
  if (username !== '') rows.push(['Username', username])
  if (uid !== '') rows.push(['UID', uid])
  if (groups.length > 0) rows.push(['Groups', `[${groups.join(' ')}]`])
  for (const key of Object.keys(extra).sort()) rows.push([`Extra: ${key}`, `[${extra[key]!.join(' ')}]`])
  for (const row of rows) table.write(`${row.join('\t')}\n`)
  table.flush()
  return text
}

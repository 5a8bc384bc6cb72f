/** Ensures that every namespace has the `default` service account; recreates it if deleted. */
import { isApiError } from '#/api/errors.ts'
import { namespaces, serviceAccounts } from '#/api/generated/core/v1-resources.ts'
import { isBeingDeleted } from '#/api/metadata.ts'
import type { Controller } from './controller.ts'

export const serviceAccountController: Controller = {
  name: 'serviceaccount-controller',
  queueName: 'serviceaccount',
  account: 'service-account-controller',
  setUp: ({ informer, enqueue }) => {
    const spaces = informer(namespaces)
    const accounts = informer(serviceAccounts)
    spaces.addEventHandler((key, { oldObject, newObject }) => {
      if (newObject !== undefined && oldObject === undefined) enqueue(key)
    })
    accounts.addEventHandler((key, { newObject }) => {
      if (newObject === undefined && key.endsWith(`/${name}`)) enqueue(key.slice(0, key.indexOf('/')))
    })
    return async ({ key: namespace, client, signal }) => {
      const space = spaces.get(namespace)
      if (space === undefined || isBeingDeleted(space) || accounts.get(`${namespace}/${name}`)) return
      try {
        await client.create(serviceAccounts, { metadata: { namespace, name } }, { signal })
      } catch (error) {
        if (!isApiError(error, 'AlreadyExists')) throw error
      }
    }
  },
}

const name = 'default'

/** The injector as a process: `node main.ts`, or `node main.ts initializer`. */
import { runOperator } from 'k8ts/controller/operator'
import { environmentVariables } from 'k8ts/platform'
import { initializerInjector } from './initializer.ts'
import { webhookInjector } from './webhook.ts'

/** For a process outside of the cluster: `https://192.0.2.7:9443`. */
const { WEBHOOK_URL: url } = environmentVariables()

const isInitializer = process.argv[2] === 'initializer'
await runOperator(isInitializer ? initializerInjector() : webhookInjector(url ? { target: { url } } : {}))

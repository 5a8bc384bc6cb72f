/** Entry point of the console's page: signs in, then renders the shell. */
import { render } from 'preact'
import { startKeyboard } from './keyboard/key-bindings.ts'
import { startRouter } from './router/router.ts'
import { signIn, watchForLinks } from './data/session.ts'
import { App } from './shell/app.tsx'
import { startTheme } from './shell/theme.ts'

startTheme()
watchForLinks()
const result = await signIn()
startRouter()
startKeyboard()
const root = document.querySelector('#app')
if (root) render(<App refusal={result.type === 'refused' ? result.message : undefined} />, root)

// Swagger UI, which fills in a new key for each command. The button makes another one; the same key again is a retry.

const newKeys = ({ React }) => ({
  wrapComponents: {
    parameterRow: (Row) => (props) => {
      const isKey = props.rawParam.get('name') === 'Idempotency-Key';
      const fill = () => props.onChange(props.rawParam, crypto.randomUUID(), false);
      React.useEffect(() => {
        if (isKey && props.isExecute) fill();
      }, [props.isExecute]);
      const row = React.createElement(Row, props);
      if (!isKey || !props.isExecute) return row;
      const button = React.createElement('button', { className: 'btn', onClick: fill }, 'New key');
      const cells = [React.createElement('td', { key: 'name' }), React.createElement('td', { key: 'button' }, button)];
      return React.createElement(React.Fragment, null, row, React.createElement('tr', null, cells));
    },
  },
});

SwaggerUIBundle({
  dom_id: '#page',
  url: '../openapi.json',
  plugins: [newKeys],
  tryItOutEnabled: true,
  defaultModelsExpandDepth: 0,
  validatorUrl: 'none',
});
